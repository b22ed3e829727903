"""The pair of mappings that makes column-then-row sharding exact (Megatron-LM, arXiv:1909.08053).

Legend: B batch, S sequence, T = B*S tokens, H hidden.

            forward      backward     stands
    f       identity     all-reduce   before the column-parallel matrix
    g       all-reduce   identity     after the row-parallel matrix

Each is the other's dual. A group of one rank needs neither, and then neither enters the graph.
"""

from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workers.tp.group import TensorParallelGroup


def copy_to_ranks(x_TH: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """Apply f: hand the replicated x_TH to this rank's columns; sum its gradient over the ranks.

    Only matrix products may consume the result, because the gradient that autograd brings back is
    summed in place: a product's input gradient is a new tensor which nobody else holds.
    """
    if group.size == 1:
        return x_TH
    out_TH: Tensor = _CopyToRanks.apply(x_TH, group, where)  # type: ignore[no-untyped-call]
    return out_TH


def reduce_from_ranks(partial_TH: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """Apply g: sum the ranks' partial outputs; hand the gradient to each of them as it is.

    Takes ownership of partial_TH, which must be the fresh output of a matrix product: it is summed
    in place. Products do not keep their output for backward.
    """
    if group.size == 1:
        return partial_TH
    out_TH: Tensor = _ReduceFromRanks.apply(partial_TH, group, where)  # type: ignore[no-untyped-call]
    return out_TH


class _MappingContext(Protocol):
    """What f remembers from forward to backward."""

    group: TensorParallelGroup
    where: str

    def mark_dirty(self, *tensors: Tensor) -> None: ...


class _CopyToRanks(torch.autograd.Function):
    """Identity forward, all-reduce backward: f, the dual of g."""

    @staticmethod
    def forward(
        ctx: _MappingContext, x_TH: Tensor, group: TensorParallelGroup, where: str
    ) -> Tensor:
        ctx.group = group
        ctx.where = where
        return x_TH.view_as(x_TH)

    @staticmethod
    @once_differentiable
    def backward(ctx: _MappingContext, grad_TH: Tensor) -> tuple[Tensor, None, None]:
        return ctx.group.collectives.all_reduce(grad_TH, where=ctx.where), None, None


class _ReduceFromRanks(torch.autograd.Function):
    """All-reduce forward, identity backward: g, the dual of f."""

    @staticmethod
    def forward(
        ctx: _MappingContext, partial_TH: Tensor, group: TensorParallelGroup, where: str
    ) -> Tensor:
        out_TH = group.collectives.all_reduce(partial_TH, where=where)
        if out_TH is partial_TH:
            ctx.mark_dirty(partial_TH)
        return out_TH

    @staticmethod
    def backward(_ctx: _MappingContext, grad_TH: Tensor) -> tuple[Tensor, None, None]:
        return grad_TH, None, None
