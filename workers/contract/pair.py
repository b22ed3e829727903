"""Two points that take turns in one worker group, so that what the host does falls on both."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

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
    values: tuple[str, ...] = Field(default=(), max_length=2, validate_default=True)
    """Two different values of the axis; none for `same`."""

    @field_validator("values")
    @classmethod
    def _are_two_values_of_the_axis(
        cls, values: tuple[str, ...], info: ValidationInfo
    ) -> tuple[str, ...]:
        axis = info.data.get("axis")
        if axis is None:  # which is refused by itself
            return values
        if axis is PairAxis.SAME:
            if values:
                raise ValueError("a pair of the same point twice has no values; leave them out")
            return values
        known = VALUES[axis]
        found = {_plain(value) for value in values}
        if len(values) != len(found) or len(found) != 2 or not found <= set(known):  # noqa: PLR2004 - a pair
            raise ValueError(
                f"a pair has two different values of {axis}; it works for {', '.join(known)}"
            )
        if Arrangement.LAYER_SPLIT in found:
            raise ValueError(
                "layer_split passes through tp_degree layers and the others through one: points "
                "of a pair do one amount of work; any two other arrangements work"
            )
        return values

    def points(self, base: PointSpec) -> tuple[PointSpec, PointSpec]:
        """Return the two points that one combination of the other axes becomes."""
        if self.axis is PairAxis.SAME:
            return base, base
        first, second = (
            base.model_copy(update={self.axis.value: value}) for value in self.values_of_points
        )
        return first, second

    @property
    def values_of_points(self) -> tuple[StrEnum, ...]:
        """The values as points have them, of which `auto` is none."""
        return tuple(VALUES[self.axis](_plain(value)) for value in self.values)


def _plain(value: str) -> str:
    return CollectiveImpl.BACKEND.value if value == "auto" else value
