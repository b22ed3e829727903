"""How many bytes each number takes, by what the model is held in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType


class Precision(StrEnum):
    """What weights, gradients and optimizer are held in. Training needs one that has gradients."""

    FLOAT32 = "float32"
    BFLOAT16_MIXED = "bfloat16_mixed"
    """Weights and gradients in bfloat16; a float32 copy of the weights and Adam's two moments."""
    FLOAT16_MIXED = "float16_mixed"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT8 = "float8"
    """Weights and cache; activations in two bytes, as in the three below."""
    INT8 = "int8"
    INT4 = "int4"
    """Weights alone; scales of quantised weights are not counted."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Bytes of one number. Training: of one parameter, ZeRO's 2 + 2 + K (arXiv:1910.02054)."""

    weight: float
    gradient: int
    optimizer: int
    """Adam's moments, and the float32 copy of the weights in mixed precision."""
    activation: int
    cached: int

    @property
    def of_inference(self) -> "Widths":
        """The same without what only training holds."""
        return replace(self, gradient=0, optimizer=0)


WIDTHS: Mapping[Precision, Widths] = MappingProxyType(
    {
        Precision.FLOAT32: Widths(weight=4, gradient=4, optimizer=8, activation=4, cached=4),
        Precision.BFLOAT16_MIXED: Widths(2, 2, 12, 2, 2),
        Precision.FLOAT16_MIXED: Widths(2, 2, 12, 2, 2),
        Precision.BFLOAT16: Widths(2, 0, 0, 2, 2),
        Precision.FLOAT16: Widths(2, 0, 0, 2, 2),
        Precision.FLOAT8: Widths(1, 0, 0, 2, 1),
        Precision.INT8: Widths(1, 0, 0, 2, 2),
        Precision.INT4: Widths(0.5, 0, 0, 2, 2),
    }
)

TRAINABLE = tuple(name for name, widths in WIDTHS.items() if widths.gradient)
