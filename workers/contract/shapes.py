from typing import Any, Self

from pydantic import Field, model_validator

from workers.contract.axes import Activation
from workers.contract.frozen import Frozen

LARGEST_DIMENSION = 1 << 20


class ModelShape(Frozen):
    """The dimensions of one transformer layer. Biases and dropout are left out: they move no time.

    What is not given follows from the rest: head_dim = hidden_size / num_attention_heads, as many
    key-value heads as attention heads, SiLU where gated and GELU where not.
    """

    name: str = Field(default="", max_length=200)
    hidden_size: int = Field(ge=1, le=LARGEST_DIMENSION)
    intermediate_size: int = Field(ge=1, le=LARGEST_DIMENSION)
    num_attention_heads: int = Field(ge=1, le=LARGEST_DIMENSION)
    num_key_value_heads: int = Field(ge=1, le=LARGEST_DIMENSION)
    head_dim: int = Field(ge=1, le=LARGEST_DIMENSION)
    gated: bool = False
    """Three matrices, activation(gate) * up -> down, instead of two."""
    activation: Activation
    parallel_block: bool = False
    """Attention and MLP read the same input and add up before one all-reduce (Falcon, GPT-NeoX)."""

    @model_validator(mode="before")
    @classmethod
    def _derive_what_is_not_given(cls, data: Any) -> Any:  # noqa: ANN401 - raw input of any type
        if not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if value is not None}
        heads, hidden = given.get("num_attention_heads"), given.get("hidden_size")
        given.setdefault("activation", "silu" if given.get("gated") else "gelu")
        if isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
            given.setdefault("num_key_value_heads", heads)
            if "head_dim" not in given:
                if hidden % heads:
                    msg = (
                        f"hidden_size={hidden} is not divisible by num_attention_heads={heads}; "
                        "give head_dim where heads are of another width"
                    )
                    raise ValueError(msg)
                given["head_dim"] = hidden // heads
        return given

    @model_validator(mode="after")
    def _groups_are_whole(self) -> Self:
        if self.num_attention_heads % self.num_key_value_heads:
            msg = (
                f"num_attention_heads={self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads={self.num_key_value_heads}"
            )
            raise ValueError(msg)
        return self
