"""The command `python -m trainspeed.monitor --interval 5 --out gpu.csv [-- command …]`."""

import sys

from trainspeed.sensors.monitor import main

if __name__ == "__main__":
    sys.exit(main())
