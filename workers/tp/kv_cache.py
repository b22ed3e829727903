"""Keys and values of the tokens that a decode step does not compute again.

Legend: B batch, K key-value heads of one rank, C cached tokens of each sequence, D head_dim.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from workers.contract.axes import Block, Phase
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class KvCache:
    """One rank's heads, with one more place for the token of the step: nothing is allocated there.

    Every step writes to the same last place, so that all steps of a trial do the same work.
    """

    keys: Tensor
    """[B, K, C+1, D]."""
    values: Tensor
    """[B, K, C+1, D]."""

    @classmethod
    def of(cls, keys_BKCD: Tensor, values_BKCD: Tensor) -> Self:
        """Copy C cached tokens to where one more has room."""
        return cls(_with_room(keys_BKCD), _with_room(values_BKCD))

    @classmethod
    def draw(
        cls,
        spec: PointSpec,
        *,
        num_kv_heads: int,
        generator: torch.Generator,
        dtype: torch.dtype,
    ) -> Self:
        """Draw normal numbers on the generator's device; zeros would spare it power and caches."""
        shape = (spec.batch, num_kv_heads, spec.seq + 1, spec.model.head_dim)
        keys, values = (
            torch.empty(shape, device=generator.device, dtype=dtype).normal_(generator=generator)
            for _ in range(2)
        )
        return cls(keys, values)

    def copy(self, dtype: torch.dtype) -> Self:
        """Return a cache of its own in another dtype."""
        return type(self)(self.keys.to(dtype, copy=True), self.values.to(dtype, copy=True))

    def halves(self) -> tuple[Self, Self]:
        """Return the first and the second half of the sequences, in the same memory."""
        first, second = zip(self.keys.chunk(2), self.values.chunk(2), strict=True)
        return type(self)(*first), type(self)(*second)

    def append(self, k_BK1D: Tensor, v_BK1D: Tensor) -> tuple[Tensor, Tensor]:
        """Put the step's token in the last place; return all keys and all values."""
        self.keys[:, :, -1:] = k_BK1D
        self.values[:, :, -1:] = v_BK1D
        return self.keys, self.values


def needs_cache(spec: PointSpec) -> bool:
    """Whether a step of `spec` reads cached keys and values."""
    return spec.phase is Phase.DECODE and spec.block is not Block.MLP


def _with_room(cached_BKCD: Tensor) -> Tensor:
    batch, heads, length, width = cached_BKCD.shape
    room = cached_BKCD.new_empty(batch, heads, length + 1, width)
    room[:, :, :length] = cached_BKCD
    return room
