"""Every collective is waited for where it is called."""

from workers.tp.arrangements.registry import ARRANGEMENTS
from workers.tp.overlaps.mode import OverlapMode

NONE = OverlapMode(ARRANGEMENTS)
