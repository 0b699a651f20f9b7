"""The command `python -m trainspeed`: see `trainspeed.report.cli`."""

import sys

from trainspeed.report.cli import main

if __name__ == "__main__":
    sys.exit(main())
