import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ray.exceptions import RayError

from workers.contract.group_events import Loss
from workers.ray_group.causes import is_death, is_final_complaint, loss_of
from workers.ray_group.last_words import LastWords


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The rank to look at, and how to name the cause once the agent has told what became of it."""

    rank: int
    died: tuple[int, ...] = ()
    hung: tuple[int, ...] = ()
    """Ranks that live but hang: they are to write their stacks before they are killed."""
    name: Callable[[LastWords | None], Loss]
    spares_the_group: bool = False
    """Every rank has answered and none died: the point is to blame, the processes can go on."""


class Inquest:
    """Opened at a first failure, to find the rank that is its cause.

    A peer's complaint (connection reset, at 13 ms) often comes before Ray reports the death that
    caused it (at 20 ms), so the others are heard for a moment; a death ends the hearing.
    """

    def __init__(self, *, grace_s: float) -> None:
        self._ends = time.monotonic() + grace_s
        self._errors: dict[int, RayError] = {}

    def hear(self, errors: Mapping[int, RayError]) -> None:
        """Take in errors by rank; each rank's first counts, unless it died of it."""
        for rank, error in errors.items():
            if rank not in self._errors or is_death(error):
                self._errors[rank] = error

    def finding(self, *, all_answered: bool) -> Finding | None:
        """Name the cause, or None while somebody may still say something better."""
        deaths = [rank for rank, error in self._errors.items() if is_death(error)]
        if not (deaths or all_answered or time.monotonic() > self._ends):
            return None
        finals = [rank for rank, error in self._errors.items() if is_final_complaint(error)]
        rank = next(iter(deaths or finals or self._errors))
        error = self._errors[rank]
        return Finding(
            rank=rank,
            died=tuple(deaths),
            name=lambda words: loss_of(error, rank=rank, words=words),
            spares_the_group=all_answered and not deaths and len(finals) == len(self._errors),
        )
