"""One hardware in another's place: a new series begins, and the two are bridged, not compared."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

NIGHTS_PER_SIDE = 5
"""Nights next to a swap that its ratio rests on."""


@dataclass(frozen=True, slots=True)
class Swap:
    """From one night to the next another hardware measures."""

    before: str
    after: str
    """hardware_keys."""
    last: tuple[int, ...]
    """The newest nights of the old one, in order."""
    first: tuple[int, ...]
    """The oldest of the new one."""


def swaps(nights_of: Mapping[str, Collection[int]]) -> tuple[Swap, ...]:
    """Find them, by the nights that each hardware measured. Side by side is no swap."""
    in_order = sorted(nights_of, key=lambda key: (min(nights_of[key]), key))
    return tuple(
        Swap(
            before=before,
            after=after,
            last=tuple(sorted(nights_of[before])[-NIGHTS_PER_SIDE:]),
            first=tuple(sorted(nights_of[after])[:NIGHTS_PER_SIDE]),
        )
        for before, after in pairwise(in_order)
        if max(nights_of[before]) < min(nights_of[after])
    )
