from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

LARGEST_LABEL = 200

Label = Annotated[
    str, StringConstraints(max_length=LARGEST_LABEL, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")
]
"""A name people give: no control characters, which terminals obey and PostgreSQL refuses."""


class Frozen(BaseModel):
    """Immutable data that crosses a boundary: unknown fields and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
