from typing import Annotated, Self, TypeGuard

from pydantic import Field, GetJsonSchemaHandler, StrictBool, StrictInt, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from workers.contract.axes import Activation
from workers.contract.frozen import Frozen, Label

LARGEST_DIMENSION = 1 << 20

Dimension = Annotated[StrictInt, Field(ge=1, le=LARGEST_DIMENSION)]


DERIVED = ("num_key_value_heads", "head_dim", "activation")


class ModelShape(Frozen):
    """The dimensions of one transformer layer. Biases and dropout are left out: they move no time.

    What is not given follows from the rest: head_dim = hidden_size / num_attention_heads, as many
    key-value heads as attention heads, SiLU where gated and GELU where not.
    """

    name: Label = ""
    hidden_size: Dimension
    intermediate_size: Dimension
    num_attention_heads: Dimension
    num_key_value_heads: Dimension
    head_dim: Dimension
    gated: StrictBool = False
    """Three matrices, activation(gate) * up -> down, instead of two."""
    activation: Activation
    parallel_block: StrictBool = False
    """Attention and MLP read the same input and add up before one all-reduce (Falcon, GPT-NeoX)."""

    @property
    def nameless(self) -> Self:
        """Equal for two that differ in name alone."""
        return self.model_copy(update={"name": ""})

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Require from a caller only what does not follow from the rest."""
        reference = handler(core_schema)
        if handler.mode == "validation":
            schema = handler.resolve_ref_schema(reference)
            schema["required"] = [name for name in schema["required"] if name not in DERIVED]
        return reference

    @model_validator(mode="before")
    @classmethod
    def _derive_what_is_not_given(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if value is not None}
        given.setdefault("activation", "silu" if given.get("gated") is True else "gelu")
        heads, hidden = given.get("num_attention_heads"), given.get("hidden_size")
        given.setdefault("num_key_value_heads", heads if _is_count(heads) else 1)
        if "head_dim" not in given:
            given["head_dim"] = _head_dim(hidden, heads)
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


def _head_dim(hidden: object, heads: object) -> int:
    """Return 1 where the two are wrong themselves, so that only they are reported."""
    if not (_is_count(hidden) and _is_count(heads)):
        return 1
    if hidden % heads:
        msg = (
            f"hidden_size={hidden} is not divisible by num_attention_heads={heads}; "
            "give head_dim where heads are of another width"
        )
        raise ValueError(msg)
    return hidden // heads


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= LARGEST_DIMENSION
