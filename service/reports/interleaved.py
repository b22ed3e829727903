"""Sides of a comparison that the same trials measured by turns, as the two points of a pair."""

from collections.abc import Callable, Collection, Mapping, Sequence

from service.reports.matching import Grouped, Identity
from service.store.timed import Timed

StepRatios = Mapping[tuple[str, str], float]
"""By trial and second point of a pair: what its steps took over the first's, turn by turn."""
ReadRatios = Callable[[Collection[str]], StepRatios]
"""Those of some sweeps."""


def time_by_turns(
    matched: Sequence[Identity], old: Grouped, new: Grouped, read: ReadRatios
) -> Callable[[Timed], float] | None:
    """Step times of the candidate such that twin steps tell the ratio; None of other sides.

    That is the baseline's in the same trial times the ratio of the turns. Of a result that stands
    on both sides, and of a pair without known turns, it is the step time itself.
    """
    if not _is_interleaved(matched, old, new):
        return None
    baseline = {trial.id: trial for identity in matched for trial in old[identity]}
    candidate = [trial for identity in matched for trial in new[identity]]
    are_same = any(baseline[trial.id].point_id == trial.point_id for trial in candidate)
    ratios = {} if are_same else read({trial.sweep_id for trial in candidate})

    def of(trial: Timed) -> float:
        before = baseline[trial.id]
        if ratio := ratios.get((trial.id, trial.point_id)):
            return before.step_time_us * ratio
        if ratio := ratios.get((trial.id, before.point_id)):
            return before.step_time_us / ratio
        return trial.step_time_us

    return of


def _is_interleaved(matched: Sequence[Identity], old: Grouped, new: Grouped) -> bool:
    """Whether every matched point was measured by the same trials on both sides."""
    sides = (
        ({trial.id for trial in old[identity]}, {trial.id for trial in new[identity]})
        for identity in matched
    )
    return bool(matched) and all(before == after for before, after in sides)
