"""A sweep one grid of tp_degree x batch at a time: the values of all its other axes are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from service.errors import InvalidRequestError
from service.pages.point_name import model_name
from service.store.result_filter import ResultFilter
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.pair import PairAxis
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sweep import SweepSpec

AXES: Final = {
    "models": "model",
    "blocks": "block",
    "phase": "phase",
    "seq": "seq",
    "arrangement": "arrangement",
    "dtype": "dtype",
    "collective_impl": "collective_impl",
    "overlap": "overlap",
    "launch": "launch",
}
"""Axes of a sweep, and the field of a point that each fills."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One axis with several values."""

    name: str
    values: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Facet:
    """One value of each axis but tp_degree and batch."""

    choices: tuple[Choice, ...]
    model_names: tuple[str, ...]
    """Of the shapes that are called so: one, without a name where it is called by its sizes."""

    @classmethod
    def of(cls, spec: SweepSpec, asked: Mapping[str, str]) -> "Facet":
        """What was asked for, and the first value where nothing was."""
        choices = tuple(
            _choice(name, tuple(dict.fromkeys(map(_word, values))), asked.get(name))
            for axis, name in AXES.items()
            for values in [_values(spec, axis)]
        )
        called = (shape.name for shape in spec.models if _word(shape) == choices[0].chosen)
        return cls(choices, tuple(dict.fromkeys(called)))

    @property
    def open(self) -> tuple[Choice, ...]:
        """Axes in which there is a choice."""
        return tuple(choice for choice in self.choices if len(choice.values) > 1)

    def holds(self, spec: PointSpec) -> bool:
        """Whether a point belongs here."""
        return all(_word(getattr(spec, choice.name)) == choice.chosen for choice in self.choices)

    def query(self, **changes: str) -> str:
        """The choice as a query, with some of it changed."""
        chosen = {choice.name: choice.chosen for choice in self.open} | changes
        return urlencode({name: value for name, value in chosen.items() if value})

    def as_filter(self, sweep_id: str) -> ResultFilter:
        """The same in the store's words; shapes without a name are told apart afterwards."""
        chosen = {choice.name: choice.chosen for choice in self.choices}
        return ResultFilter(
            sweep_ids=(sweep_id,),
            models=self.model_names,
            blocks=(Block(chosen["block"]),),
            phases=(Phase(chosen["phase"]),),
            arrangements=(Arrangement(chosen["arrangement"]),),
            seqs=(int(chosen["seq"]),),
            dtypes=(Dtype(chosen["dtype"]),),
            collective_impls=(CollectiveImpl(chosen["collective_impl"]),),
            overlaps=(Overlap(chosen["overlap"]),),
            launches=(Launch(chosen["launch"]),),
        )


def _values(spec: SweepSpec, axis: str) -> Sequence[object]:
    """Of an axis in which a pair differs, the pair's own."""
    if spec.pair is not None and spec.pair.axis is not PairAxis.SAME and spec.pair.axis == axis:
        return spec.pair.values_of_points
    values: Sequence[object] = getattr(spec, axis)
    return values


def _choice(name: str, values: tuple[str, ...], asked: str | None) -> Choice:
    if asked and asked not in values:
        known = ", ".join(values)
        raise InvalidRequestError(f"{name}: this sweep has no {asked!r}; it has: {known}")
    return Choice(name, values, asked or values[0])


def _word(value: object) -> str:
    """What a value is called; a shape without a name, by its sizes."""
    if isinstance(value, ModelShape):
        return model_name(value)
    return str(value)
