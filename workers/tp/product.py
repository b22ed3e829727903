"""One matrix product by itself: what a device makes of arithmetic and of memory.

Legend: M rows, N columns, K what is summed over.
"""

from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.contract.probe import GemmProbe


class ProductStep:
    """x_MK @ w_NK^T, laid out as the blocks lay it out: weights are [out, in]."""

    has_backward = False

    def __init__(self, x_MK: Tensor, w_NK: Tensor) -> None:
        self.x_MK, self.w_NK = x_MK, w_NK

    @classmethod
    def draw(cls, spec: GemmProbe, *, seed: int, device: torch.device) -> Self:
        """Over normal numbers: zeros take less power, and so less time."""
        generator = torch.Generator(device).manual_seed(seed)
        dtype: torch.dtype = getattr(torch, spec.dtype)
        x_MK, w_NK = (
            torch.randn(shape, generator=generator, device=device).to(dtype)
            for shape in ((spec.m, spec.k), (spec.n, spec.k))
        )
        return cls(x_MK, w_NK)

    def forward(self) -> Tensor:
        """Multiply."""
        with torch.no_grad():
            return F.linear(self.x_MK, self.w_NK)

    def backward(self, output: Tensor) -> None:
        """Nothing."""
