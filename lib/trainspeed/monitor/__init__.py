"""The program that samples devices into a CSV beside any command: `python -m trainspeed.monitor`."""
