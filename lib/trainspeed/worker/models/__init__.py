"""The models, natively in each framework."""
