"""Trials of one replicate that differ in a single axis."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from service.store.results import MeasuredTrial
from workers.contract.point import PointSpec


def beside(
    trials: Sequence[MeasuredTrial], axis: str, usual: StrEnum | int
) -> Iterator[tuple[MeasuredTrial, MeasuredTrial]]:
    """Each trial that is not usual on the axis, and the usual one of its replicate else alike."""
    twins: dict[PointSpec, int] = {}
    numbers: dict[str, int] = {}

    def place(trial: MeasuredTrial) -> tuple[str, int, int]:
        """Hashing a spec costs more than all the rest: once for each spec_key."""
        if trial.spec_key not in numbers:
            rest = {axis: usual, "model": trial.spec.model.nameless}
            twin = trial.spec.model_copy(update=rest)
            numbers[trial.spec_key] = twins.setdefault(twin, len(twins))
        return trial.sweep_id, trial.replicate, numbers[trial.spec_key]

    known = {place(trial): trial for trial in trials if getattr(trial.spec, axis) == usual}
    for trial in trials:
        if getattr(trial.spec, axis) != usual and (other := known.get(place(trial))):
            yield trial, other
