"""One rank's tensors against those of the unsharded twin."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one tensor is off its twin's."""

    abs_error: float
    rel_error: float
    """Of the twin's largest element; infinite where the tensor is not finite."""
    multiple: float
    """What the tensor is its twin's times; 0 where it is no multiple of it, or the same."""


def compare(actual: Tensor, expected: Tensor, *, tolerance: float) -> Difference:
    """Compare element by element, relative to the twin's largest element.

    A twin that is zero everywhere (every ReLU shut) is compared absolutely.
    """
    size = _largest(expected) or 1.0
    abs_error = _largest(actual - expected)
    if not math.isfinite(abs_error):
        return Difference(math.inf, math.inf, 0)
    multiple = 0.0
    if abs_error > tolerance * size:
        multiple = float((actual * expected).sum() / expected.square().sum())
        is_multiple = _largest(actual - multiple * expected) <= tolerance * abs(multiple) * size
        multiple = multiple if is_multiple else 0.0
    return Difference(abs_error, abs_error / size, multiple)


def _largest(tensor: Tensor) -> float:
    """Return the largest magnitude, NaN where there is one, without another tensor of that size."""
    low, high = tensor.aminmax()
    return float(torch.maximum(high, -low))
