"""Whether a sweep measures further batches by itself, where a break-even lies between two."""

from typing import Annotated

from pydantic import BeforeValidator, Field, Strict, StrictBool, StrictInt

from workers.contract.frozen import Frozen


class Refine(Frozen):
    """Halve the bracket of each break-even once a round of trials is over."""

    rel_width: Annotated[float, Strict()] = Field(default=0.2, gt=0, le=1)
    """Enough where the bracket's right end is at most this much above its left one."""
    max_points: StrictInt = Field(default=50, ge=1, le=1000)
    """Add at most this many points, over all series and rounds."""


def _of_flag(value: object) -> object:
    if isinstance(value, bool):
        return Refine() if value else None
    return value


MaybeRefine = Annotated[
    Refine | None,
    BeforeValidator(_of_flag, json_schema_input_type=StrictBool | Refine | None),
]
"""`true` stands for the defaults, `false` for nothing."""
