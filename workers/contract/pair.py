"""Two points that take turns in one worker group, so that what the host does falls on both."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from workers.contract.axes import Arrangement, CollectiveImpl, Dtype, Overlap
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec


class PairAxis(StrEnum):
    """What the points of a pair may differ in: what one group of processes can run by turns."""

    OVERLAP = "overlap"
    ARRANGEMENT = "arrangement"
    COLLECTIVE_IMPL = "collective_impl"
    DTYPE = "dtype"
    SAME = "same"
    """Nothing: shows what the instrument says where nothing differs."""


VALUES: Mapping[PairAxis, type[StrEnum]] = MappingProxyType(
    {
        PairAxis.OVERLAP: Overlap,
        PairAxis.ARRANGEMENT: Arrangement,
        PairAxis.COLLECTIVE_IMPL: CollectiveImpl,
        PairAxis.DTYPE: Dtype,
    }
)


def _shareable(axis: object) -> object:
    works = ", ".join(PairAxis)
    if axis in set(PairAxis):
        return axis
    if isinstance(axis, str) and axis in {*PointSpec.model_fields, "models", "blocks"}:
        raise ValueError(
            f"the points of a pair share one group, one model and one amount of work, so they "
            f"cannot differ in {axis}; a pair works for: {works}"
        )
    raise ValueError(f"a pair works for: {works}")


class Pair(Frozen):
    """Two values of one axis, the first being what the second is compared with."""

    axis: Annotated[PairAxis, BeforeValidator(_shareable, json_schema_input_type=PairAxis)]
    values: tuple[str, ...] = Field(default=(), max_length=2)
    """Two different values of the axis; none for `same`."""

    @model_validator(mode="after")
    def _names_two_values_of_the_axis(self) -> Self:
        if self.axis is PairAxis.SAME:
            if self.values:
                raise ValueError("values: a pair of the same point twice has none; leave them out")
            return self
        known = VALUES[self.axis]
        found = {_plain(value) for value in self.values}
        if len(self.values) != len(found) or len(found) != 2 or not found <= set(known):  # noqa: PLR2004 - a pair
            named = ", ".join(self.values) or "none"
            raise ValueError(
                f"values: a pair has two different values of {self.axis}, out of "
                f"{', '.join(known)}; got {named}"
            )
        if Arrangement.LAYER_SPLIT in found:
            raise ValueError(
                "values: layer_split passes through tp_degree layers and the others through one: "
                "points of a pair do one amount of work; any two other arrangements work"
            )
        return self

    def points(self, base: PointSpec) -> tuple[PointSpec, PointSpec]:
        """Return the two points that one combination of the other axes becomes."""
        if self.axis is PairAxis.SAME:
            return base, base
        first, second = (
            base.model_copy(update={self.axis.value: VALUES[self.axis](_plain(value))})
            for value in self.values
        )
        return first, second


def _plain(value: str) -> str:
    return CollectiveImpl.BACKEND.value if value == "auto" else value
