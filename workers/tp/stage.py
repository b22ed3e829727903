"""Whole layers, one on each rank, one after the other: the naive pipeline, of a single batch.

Legend: T tokens, H hidden, P ranks and layers.

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

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """Return what this rank's layer gives, after it was handed on.

        The first rank's layer is given x_TH, any other what the one before gave: of its own x_TH
        the shape counts, and what is called its gradient is the gradient of what was given.
        """
        if group.size == 1:
            return self.layer.forward(x_TH, group, batch=batch)
        given_TH: Tensor = _Take.apply(x_TH, group)  # type: ignore[no-untyped-call]
        own_TH = self.layer.forward(given_TH, group, batch=batch)
        out_TH: Tensor = _HandOn.apply(own_TH, group)  # type: ignore[no-untyped-call]
        return out_TH


class _Context(Protocol):
    group: TensorParallelGroup


class _Take(torch.autograd.Function):
    """From the rank before; backward sends it the gradient."""

    @staticmethod
    def forward(ctx: _Context, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        ctx.group = group
        if group.rank == 0:
            return x_TH.view_as(x_TH)
        return _pass(torch.empty_like(x_TH), group, behind=group.rank - 1, way="forward")

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_TH: Tensor) -> tuple[Tensor, None]:
        group = ctx.group
        if group.rank > 0:
            _pass(grad_TH.contiguous(), group, behind=group.rank - 1, way="backward")
        return grad_TH, None


class _HandOn(torch.autograd.Function):
    """To the rank behind; backward gets the gradient from it, whatever it is told."""

    @staticmethod
    def forward(ctx: _Context, out_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        ctx.group = group
        if group.rank < group.size - 1:
            _pass(out_TH.contiguous(), group, behind=group.rank, way="forward")
        return out_TH.view_as(out_TH)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad_TH: Tensor) -> tuple[Tensor, None]:
        group = ctx.group
        if group.rank == group.size - 1:
            return grad_TH, None
        return _pass(torch.empty_like(grad_TH), group, behind=group.rank, way="backward"), None


def _pass(tensor: Tensor, group: TensorParallelGroup, *, behind: int, way: str) -> Tensor:
    """Move a tensor between layer `behind` and the next one."""
    ends = (behind, behind + 1) if way == "forward" else (behind + 1, behind)
    source, target = ends
    where = f"layer.{behind}.{way}"
    return group.collectives.send_recv(tensor, source=source, target=target, where=where)
