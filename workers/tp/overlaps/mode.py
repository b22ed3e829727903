from collections.abc import Mapping
from dataclasses import dataclass

from workers.contract.axes import Arrangement
from workers.tp.arrangements.products import Products


@dataclass(frozen=True, slots=True)
class OverlapMode:
    """One way of letting communication run under compute."""

    products: Mapping[Arrangement, Products]
    """Of the arrangements that can have it, as the contract's layouts say."""
    is_halved: bool = False
    """Whether each block takes its batch in two halves: see `workers.tp.overlaps.chunked`."""
