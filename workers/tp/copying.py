"""One array copied to another: what a device makes of its memory, and of nothing else."""

from typing import Self

import torch
from torch import Tensor

from workers.contract.probe import CopyProbe


class CopyStep:
    """target[:] = source, both larger than the caches where the probe says so."""

    has_backward = False

    def __init__(self, source: Tensor) -> None:
        """The target's pages are touched here, so that no step has to make them."""
        self.source, self._target = source, torch.empty_like(source).zero_()

    @classmethod
    def draw(cls, spec: CopyProbe, *, seed: int, device: torch.device) -> Self:
        """Over normal numbers: what is all alike could be compressed."""
        generator = torch.Generator(device).manual_seed(seed)
        dtype: torch.dtype = getattr(torch, spec.dtype)
        num_elements = spec.copied_bytes // dtype.itemsize
        return cls(torch.randn(num_elements, generator=generator, device=device).to(dtype))

    def forward(self) -> Tensor:
        """Copy."""
        return self._target.copy_(self.source)

    def backward(self, output: Tensor) -> None:
        """Nothing."""
