"""Whole layers, one on each rank, one after the other: the naive pipeline, of a single batch.

Legend: B batch, S sequence, H hidden, P ranks and layers.

    forward     rank 0 -> rank 1 -> ... -> rank P-1       what a layer gives
    backward    rank 0 <- rank 1 <- ... <- rank P-1       the gradient of what it was given

One rank works while the others wait, so each is idle for (P-1)/P of the step, if all layers take
equally long and sending takes nothing (arXiv:1811.06965, section 2.3, for a single micro-batch).
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workers.tp.group import TensorParallelGroup
from workers.tp.layer import LayerShard


@dataclass(frozen=True, slots=True)
class Stage:
    """One rank's layer between those of its neighbours."""

    layer: LayerShard

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The layer's."""
        return self.layer.weights

    def forward(self, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        """Return what this rank's layer gives, after it was handed on.

        The first rank's layer is given x_BSH, any other what the one before gave: of its own x_BSH
        the shape counts, and what is called its gradient is the gradient of what was given.
        """
        if group.size == 1:
            return self.layer.forward(x_BSH, group)
        given_BSH: Tensor = _Take.apply(x_BSH, group)  # type: ignore[no-untyped-call]
        out_BSH: Tensor = _HandOn.apply(self.layer.forward(given_BSH, group), group)  # type: ignore[no-untyped-call]
        return out_BSH


class _Context(Protocol):
    group: TensorParallelGroup


class _Take(torch.autograd.Function):
    """From the rank before; backward sends it the gradient."""

    @staticmethod
    def forward(ctx: _Context, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        ctx.group = group
        if group.rank == 0:
            return x_BSH.view_as(x_BSH)
        return _pass(torch.empty_like(x_BSH), group, behind=group.rank - 1, way="forward")

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_BSH: Tensor) -> tuple[Tensor, None]:
        group = ctx.group
        if group.rank > 0:
            _pass(grad_BSH.contiguous(), group, behind=group.rank - 1, way="backward")
        return grad_BSH, None


class _HandOn(torch.autograd.Function):
    """To the rank behind; backward gets the gradient from it, whatever it is told."""

    @staticmethod
    def forward(ctx: _Context, out_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        ctx.group = group
        if group.rank < group.size - 1:
            _pass(out_BSH.contiguous(), group, behind=group.rank, way="forward")
        return out_BSH.view_as(out_BSH)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_BSH: Tensor) -> tuple[Tensor, None]:
        group = ctx.group
        if group.rank == group.size - 1:
            return grad_BSH, None
        return _pass(torch.empty_like(grad_BSH), group, behind=group.rank, way="backward"), None


def _pass(tensor: Tensor, group: TensorParallelGroup, *, behind: int, way: str) -> Tensor:
    """Move a tensor between layer `behind` and the next one."""
    ends = (behind, behind + 1) if way == "forward" else (behind + 1, behind)
    source, target = ends
    where = f"layer.{behind}.{way}"
    return group.collectives.send_recv(tensor, source=source, target=target, where=where)
