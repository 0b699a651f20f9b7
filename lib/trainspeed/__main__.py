"""The command `python -m trainspeed`: see `trainspeed.report.cli`."""

import sys

from trainspeed.report.cli import main
from trainspeed.report.standard_streams import keep_standard_streams

if __name__ == "__main__":
    keep_standard_streams()
    sys.exit(main())
