"""A sweep's grid: what of it can be measured, and why the rest cannot."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection


class Expansion(Frozen):
    """A sweep's grid, judged."""

    points: tuple[PointSpec, ...]
    rejected: tuple[Rejection, ...]
    is_paired: bool = False
    """Whether each point of an even place and the next are the two of a pair."""

    @property
    def trials(self) -> tuple[tuple[PointSpec, ...], ...]:
        """What is measured together, in one trial of each replicate: one point or a pair."""
        size = 2 if self.is_paired else 1
        return tuple(self.points[at : at + size] for at in range(0, len(self.points), size))

    def without(self, judge: Callable[[PointSpec], Rejection | None]) -> Self:
        """Return the same but for what `judge` also rejects, with whatever it is paired with."""
        kept = judged(self.trials, judge, is_paired=self.is_paired)
        return self.model_copy(
            update={"points": kept.points, "rejected": (*self.rejected, *kept.rejected)}
        )


def judged(
    trials: Iterable[tuple[PointSpec, ...]],
    judge: Callable[[PointSpec], Rejection | None],
    *,
    is_paired: bool,
) -> Expansion:
    """Each spec_key once; of a pair whose one point `judge` rejects, neither is kept."""
    kept: dict[tuple[str, ...], tuple[PointSpec, ...]] = {}
    rejected: list[Rejection] = []
    for trial in trials:
        reasons = [rejection for spec in trial if (rejection := judge(spec))]
        if reasons:
            rejected += reasons
            rejected += _left_alone(trial, reasons) if is_paired else ()
        else:
            kept.setdefault(tuple(spec.spec_key for spec in trial), trial)
    return Expansion(
        points=tuple(itertools.chain.from_iterable(kept.values())),
        rejected=tuple(rejected),
        is_paired=is_paired,
    )


def _left_alone(trial: tuple[PointSpec, ...], reasons: list[Rejection]) -> Iterator[Rejection]:
    """Reject what could be measured but for its partner."""
    judged = [rejection.spec for rejection in reasons]
    for spec in trial:
        if spec not in judged:
            reason = f"the point that it is paired with cannot be measured: {reasons[0].reason}"
            yield reasons[0].model_copy(update={"spec": spec, "reason": reason})
