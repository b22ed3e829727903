"""Points of two sides brought together: by every field of their identity, or by all but some."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic import JsonValue

from service.errors import FieldError, InvalidRequestError, NotComparableError
from service.reports.covariates import Difference
from service.reports.fingerprints import flat
from service.store.timed import Timed
from workers.contract.hardware import Hardware
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape

Identity = tuple[str, str]
"""spec_key and hardware_key; where fields are left out, the rest of both as text and nothing."""
Trials = Sequence[Timed]
Grouped = Mapping[Identity, list[Timed]]

PARENTS = ("model", "hardware")
FIELDS = (
    *(name for name in PointSpec.model_fields if name != "model"),
    *(f"model.{name}" for name in ModelShape.model_fields if name != "name"),
    *(f"hardware.{name}" for name in Hardware.model_fields),
)
"""Of a point's identity; `model` and `hardware` stand for all of theirs."""
MOST_VALUES = 5


def check_fields(names: Iterable[str], *, pointer: str) -> None:
    """InvalidRequestError for the first that no identity has."""
    for name in names:
        if name not in {*FIELDS, *PARENTS}:
            detail = f"{name!r} is no field of a point; there are {', '.join((*PARENTS, *FIELDS))}"
            raise InvalidRequestError(f"{pointer}: {detail}", errors=(FieldError(pointer, detail),))


def by_identity(trials: Trials, *, but_for: Collection[str] = ()) -> Grouped:
    """Group the trials of each point, whatever it is called."""
    grouped: dict[Identity, list[Timed]] = {}
    for trial in trials:
        key = (trial.spec_key, trial.hardware_key)
        grouped.setdefault(key, []).append(trial)
    if not but_for:
        return grouped
    merged: dict[Identity, list[Timed]] = {}
    for own in grouped.values():
        key = (_rest(own[0], but_for), "")
        merged.setdefault(key, []).extend(own)
    return merged


def refuse_different(
    baseline: Trials, candidate: Trials, *, allowed: Collection[str], pointer: str
) -> None:
    """NotComparableError where no point is on both sides, or where one side has several for one.

    The former names each field of which the sides have no value in common, the latter each of which
    one side has several.
    """
    old, new = (by_identity(side, but_for=allowed) for side in (baseline, candidate))
    if allowed:
        for side, grouped in (("baseline", old), ("candidate", new)):
            _refuse_mixed(side, grouped, pointer=pointer)
    if not old or not new or old.keys() & new.keys():
        return
    before, after = (_values(side) for side in (baseline, candidate))
    apart = [
        name for name in FIELDS if not before[name] & after[name] and not _is_in(name, allowed)
    ]
    if not apart:
        return
    parents = [next((p for p in PARENTS if name.startswith(f"{p}.")), name) for name in apart]
    errors = tuple(
        FieldError(
            pointer,
            f"{name}: {_some(before[name])} against {_some(after[name])}; "
            f"allow_different={parent} lets it differ",
        )
        for name, parent in zip(apart, parents, strict=True)
    )
    raise NotComparableError(
        f"the sides have no point in common: {'; '.join(error.detail for error in errors)}",
        errors=errors,
    )


def identity_differences(
    baseline: Trials, candidate: Trials, *, fields: Collection[str]
) -> tuple[Difference, ...]:
    """Give those of the fields that may differ that do."""
    if not fields:
        return ()
    before, after = _values(baseline), _values(candidate)
    return tuple(
        Difference(
            field=name, baseline=tuple(sorted(before[name])), candidate=tuple(sorted(after[name]))
        )
        for name in FIELDS
        if _is_in(name, fields) and before[name] != after[name]
    )


def _refuse_mixed(side: str, grouped: Grouped, *, pointer: str) -> None:
    """What is left out of the match must be one thing on each side, or it is not known which."""
    for trials in grouped.values():
        if len({(trial.spec_key, trial.hardware_key) for trial in trials}) > 1:
            mixed = {name: own for name, own in _values(trials).items() if len(own) > 1}
            errors = tuple(
                FieldError(pointer, f"{name}: the {side} has {_some(own)} of one point")
                for name, own in mixed.items()
            )
            raise NotComparableError(
                f"{'; '.join(error.detail for error in errors)}; select one for the {side}, "
                f"as {side}={next(iter(mixed)).partition('.')[0]}:…",
                errors=errors,
            )


def _is_in(name: str, allowed: Collection[str]) -> bool:
    return name in allowed or name.partition(".")[0] in allowed


def _rest(trial: Timed, but_for: Collection[str]) -> str:
    fields = _identity(trial.spec, trial.hardware)
    kept = {name: value for name, value in fields.items() if not _is_in(name, but_for)}
    return json.dumps(kept, sort_keys=True)


def _identity(spec: PointSpec, hardware: Hardware) -> dict[str, JsonValue]:
    own = flat(spec.model_dump(mode="json", exclude={"model": {"name"}}))
    shown = flat(hardware.model_dump(mode="json"), prefix="hardware.")
    return {**dict(own), **dict(shown)}


def _values(trials: Trials) -> dict[str, set[str]]:
    """Every value of each field."""
    values: dict[str, set[str]] = {name: set() for name in FIELDS}
    distinct = {(t.spec_key, t.hardware_key): (t.spec, t.hardware) for t in trials}
    for spec, hardware in distinct.values():
        for name, value in _identity(spec, hardware).items():
            values[name].add(str(value))
    return values


def _some(values: Collection[str]) -> str:
    shown = [value or "-" for value in sorted(values)]
    more = f" and {len(shown) - MOST_VALUES} more" if len(shown) > MOST_VALUES else ""
    return ", ".join(shown[:MOST_VALUES]) + more
