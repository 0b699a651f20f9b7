"""The monitor as a program: `python -m trainspeed.monitor`. The work is done in `trainspeed.sensors.monitor`."""
