"""What was different about how two sides were measured, beside what is compared."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from pydantic import Field

from service.store.timed import Timed
from workers.contract.frozen import Frozen
from workers.contract.hardware import Environment

READINGS = frozenset({"load_average", "variables"})
"""Not versions or settings: one is a reading, the other is looked into by name."""
ENVIRONMENT = tuple(name for name in Environment.model_fields if name not in READINGS)
TRIAL = ("hardware_key", "link_class", "node", "group_kind")


class Difference(Frozen):
    """A field of which the two sides do not have the same values."""

    field: str
    baseline: tuple[str, ...] = Field(description="Every value seen on this side; empty: not set.")
    candidate: tuple[str, ...]


def differences(baseline: Sequence[Timed], candidate: Sequence[Timed]) -> tuple[Difference, ...]:
    """Every covariate that differs, in the order of the fields."""
    if not baseline or not candidate:
        return ()
    old, new = _seen(baseline), _seen(candidate)
    return tuple(
        Difference(
            field=field,
            baseline=tuple(sorted(old.get(field, ()))),
            candidate=tuple(sorted(new.get(field, ()))),
        )
        for field in dict.fromkeys((*old, *new))
        if old.get(field) != new.get(field)
    )


def _seen(trials: Iterable[Timed]) -> dict[str, set[str]]:
    """Values by field. Few distinct environments stand for many trials: those are looked into."""
    outside = attrgetter(*TRIAL)
    inside = attrgetter(*ENVIRONMENT)
    distinct = {
        (
            (*outside(trial), *inside(trial.environment)),
            tuple(trial.environment.variables.items()),
        )
        for trial in trials
    }
    seen: dict[str, set[str]] = {}
    for values, variables in distinct:
        named = [*zip((*TRIAL, *ENVIRONMENT), values, strict=True), *variables]
        for field, value in named:
            if value is not None:
                seen.setdefault(field, set()).add(str(value))
    return seen
