"""Code to paste: the settings that were measured, as a program of the framework."""
