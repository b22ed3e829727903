from collections.abc import Mapping
from types import MappingProxyType

from workers.contract.axes import Overlap
from workers.tp.overlaps.backward import BACKWARD
from workers.tp.overlaps.chunked import CHUNKED
from workers.tp.overlaps.mode import OverlapMode
from workers.tp.overlaps.none import NONE

OVERLAPS: Mapping[Overlap, OverlapMode] = MappingProxyType(
    {Overlap.NONE: NONE, Overlap.BACKWARD: BACKWARD, Overlap.CHUNKED: CHUNKED}
)
"""One for each overlap of the contract."""
