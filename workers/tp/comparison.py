"""One rank's tensors against those of the unsharded twin."""

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
    if not actual.isfinite().all():
        return Difference(torch.inf, torch.inf, 0)
    size = float(expected.abs().max()) or 1.0
    abs_error = float((actual - expected).abs().max())
    multiple = 0.0
    if abs_error > tolerance * size:
        multiple = float((actual * expected).sum() / expected.square().sum())
        rest = float((actual - multiple * expected).abs().max())
        multiple = multiple if rest <= tolerance * size * max(1.0, abs(multiple)) else 0.0
    return Difference(abs_error, abs_error / size, multiple)
