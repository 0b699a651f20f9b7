"""The levers of how images come to the device: residence, transfer, loaders, augmentation. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import Lever

LEVERS: tuple[Lever, ...] = ()
