"""What one side of a comparison is: sweeps, baselines, tags, hardware, nodes, dates, axes."""

import difflib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Self, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from service.store.moments import Moment
from service.store.result_filter import Version
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.frozen import Frozen, Label
from workers.contract.one_or_many import OneOrMany
from workers.contract.point import LARGEST_EXTENT, LARGEST_TP_DEGREE

MOST_VALUES = 100
EXAMPLE = "for example tag:commit=abc123, node:host05 or since:2026-11-01..2026-11-15"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

Value = TypeVar("Value")


def _moment(given: object, *, plus: timedelta = timedelta(0)) -> object:
    """A day is midnight, UTC."""
    if isinstance(given, str) and _DAY.fullmatch(given):
        try:
            return datetime.fromisoformat(given).replace(tzinfo=UTC) + plus
        except ValueError:
            raise ValueError("there is no such day") from None
        except OverflowError:
            raise ValueError("no day comes after it; leave it out") from None
    return given


def _end(given: object) -> object:
    return _moment(given, plus=timedelta(days=1))


Text = Annotated[Label, StringConstraints(min_length=1)]
Some = Annotated[tuple[Value, ...], Field(max_length=MOST_VALUES), OneOrMany()]
Extent = Annotated[int, Field(ge=1, le=LARGEST_EXTENT)]
Degree = Annotated[int, Field(ge=1, le=LARGEST_TP_DEGREE)]


class Selection(Frozen):
    """Which results; of one field's values any, of several fields all must fit."""

    either: Some[Text] = Field(default=(), description="Ids of sweeps or names of baselines.")
    sweep: Some[Text] = Field(default=(), description="Ids of sweeps.")
    baseline: Some[Text] = Field(default=(), description="Names of baselines.")
    tag: dict[Label, Label] = Field(
        default_factory=dict, max_length=20, description="Of the sweep: `commit` and all others."
    )
    version: dict[Version, Label] = Field(default_factory=dict, description="What ran.")
    hardware: Some[Text] = Field(default=(), description="hardware_key, or the accelerator's name.")
    node: Some[Text] = ()
    since: Annotated[Moment, BeforeValidator(_moment)] | None = Field(
        default=None, description="Measured then or later; a day is midnight, UTC."
    )
    until: Annotated[Moment, BeforeValidator(_end)] | None = Field(
        default=None, description="Measured before then; a day is meant whole, UTC."
    )
    model: Some[Text] = Field(default=(), description="Names of models.")
    block: Some[Block] = ()
    phase: Some[Phase] = ()
    arrangement: Some[Arrangement] = ()
    tp_degree: Some[Degree] = ()
    batch: Some[Extent] = ()
    seq: Some[Extent] = ()
    dtype: Some[Dtype] = ()
    collective_impl: Some[CollectiveImpl] = ()
    overlap: Some[Overlap] = ()
    launch: Some[Launch] = ()

    @model_validator(mode="before")
    @classmethod
    def _may_be_text(cls, given: object) -> object:
        return _parse(given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.model_fields_set or not any(dict(self).values()):
            raise ValueError(f"nothing is selected; write {EXAMPLE}")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("until is not after since")
        return self

    @property
    def is_of_sweeps(self) -> bool:
        """Whether it names sweeps and nothing else."""
        return self.model_fields_set <= {"either", "sweep", "baseline"}

    @property
    def label(self) -> str:
        """The same as text."""
        asked = ((name, getattr(self, name)) for name in type(self).model_fields)
        return " ".join(_shown(name, value) for name, value in asked if value)


KINDS = tuple(name for name in Selection.model_fields if name != "either")
_NEXT = re.compile(r"[\s,]+(?=[a-z_]+:)")
_WHOLE = frozenset({"hardware", "model", "since", "until"})
"""Their value may hold a comma, or is one alone."""


def _parse(text: str) -> dict[str, object]:
    """Read `kind:value`, several apart by spaces; a word alone is a sweep's id or a baseline."""
    found: dict[str, list[str]] = {}
    pairs: dict[str, dict[str, str]] = {}
    for term in _NEXT.split(text.strip()):
        kind, mark, value = term.partition(":")
        if not mark:
            found.setdefault("either", []).append(term)
        elif kind not in KINDS:
            raise ValueError(_unknown(kind))
        elif kind in {"tag", "version"}:
            name, mark, wanted = value.partition("=")
            if not mark:
                raise ValueError(f"{kind}:{value} says no value; write {kind}:{value}=…")
            pairs.setdefault(kind, {})[name] = wanted
        else:
            found.setdefault(kind, []).extend([value] if kind in _WHOLE else value.split(","))
    return {**found, **pairs, **_moments(found)}


def _moments(found: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Both ends of `since:A..B`, each named once."""
    ends = {kind: list(found[kind]) for kind in ("since", "until") if kind in found}
    for kind, values in [*ends.items()]:
        first, mark, last = values[0].partition("..")
        if kind == "since" and mark:
            ends["since"] = [first, *values[1:]]
            ends.setdefault("until", []).append(last)
    for kind, values in ends.items():
        if len(values) > 1:
            raise ValueError(f"{kind} is named {len(values)} times")
    return {kind: values[0] for kind, values in ends.items()}


def _unknown(kind: str) -> str:
    near = difflib.get_close_matches(kind, KINDS, n=1)
    meant = f"; did you mean {near[0]}:" if near else ""
    return f"there is no selector {kind!r}{meant}; there are {', '.join(KINDS)}; {EXAMPLE}"


def _shown(name: str, value: object) -> str:
    match value:
        case datetime():
            return f"{name}:{value.isoformat().replace('+00:00', 'Z')}"
        case Mapping():
            return " ".join(f"{name}:{key}={wanted}" for key, wanted in value.items())
        case tuple() if name == "either":
            return " ".join(value)
        case tuple():
            return f"{name}:{','.join(map(str, value))}"
        case _:
            raise TypeError(f"{name} has {value!r}")
