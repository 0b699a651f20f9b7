"""The verdict for other people's numbers: `from trainspeed.verdict import judge`."""

from trainspeed.judge.verdict import judge

__all__ = ["judge"]
