from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable data that crosses a boundary: unknown fields and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
