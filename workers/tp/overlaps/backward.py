"""The input gradient is sent while the weights' gradients are computed, as Megatron-LM does.

Legend: T tokens, t those that a rank is given, H hidden, N width of one rank.

    dgrad_TH = sum of grad_i @ W_i -> start sending it -> grad_i^T @ x_TH of each i -> wait for it

The product that does not read what is sent is all there is to hide under, so the rest of the step
is sent as ever. Where the gathered input was dropped, it is gathered again under the first product.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.contract.axes import Arrangement
from workers.tp.arrangements.column_column import COLUMN_COLUMN
from workers.tp.arrangements.column_row import COLUMN_ROW
from workers.tp.arrangements.products import Products
from workers.tp.arrangements.sequence_parallel import SEQUENCE_PARALLEL
from workers.tp.arrangements.sequence_parallel_kept import SEQUENCE_PARALLEL_KEPT
from workers.tp.group import Pending, TensorParallelGroup
from workers.tp.linear import input_gradient
from workers.tp.moves import Move, gather_tokens, start_gather_tokens, start_scatter_tokens
from workers.tp.overlaps.mode import OverlapMode

Start = Callable[[Tensor, TensorParallelGroup], Pending]
"""Starts to make another tensor of one, with the other ranks' help."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is sent on the input's side of the first products."""

    there: Move
    """[t, H] to what the products read."""
    again: Start | None
    """The same once more in backward, where what they read was dropped."""
    back: Start
    """The input's gradient, [T, H] partial sums to [t, H]."""


class _Context(Protocol):
    group: TensorParallelGroup
    sides: _Sides
    saved_tensors: tuple[Tensor, ...]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _Context,
        x_tH: Tensor,
        group: TensorParallelGroup,
        sides: _Sides,
        *weights_NH: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.sides = group, sides
        whole_TH = sides.there(x_tH, group)
        ctx.save_for_backward(x_tH if sides.again else whole_TH, *weights_NH)
        return tuple([F.linear(whole_TH, weight_NH) for weight_NH in weights_NH])

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, *grads_TN: Tensor) -> tuple[Tensor | None, ...]:
        kept, *weights_NH = ctx.saved_tensors
        again = ctx.sides.again(kept, ctx.group) if ctx.sides.again else None
        dgrad_TH = input_gradient(grads_TN, weights_NH)
        whole_TH = again.wait() if again else kept
        sent = ctx.sides.back(dgrad_TH, ctx.group)
        wgrads_NH = [grad_TN.T @ whole_TH for grad_TN in grads_TN]
        return sent.wait(), None, None, *wgrads_NH


def _column_first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str, place: str
) -> tuple[Tensor, ...]:
    back = partial(_start_all_reduce, where=f"{block}.{place}")
    return _take(x_TH, weights, group, _Sides(_as_it_is, None, back))


def _gathered_first(
    x_tH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str, keeps_gathered: bool
) -> tuple[Tensor, ...]:
    sides = _Sides(
        there=partial(gather_tokens, where=f"{block}.input.forward"),
        again=None
        if keeps_gathered
        else partial(start_gather_tokens, where=f"{block}.input.again.backward"),
        back=partial(start_scatter_tokens, where=f"{block}.input.backward"),
    )
    return _take(x_tH, weights, group, sides)


def _take(
    x_tH: Tensor, weights_NH: tuple[Tensor, ...], group: TensorParallelGroup, sides: _Sides
) -> tuple[Tensor, ...]:
    if group.size == 1:
        return tuple([F.linear(x_tH, weight_NH) for weight_NH in weights_NH])
    taken: tuple[Tensor, ...] = _Products.apply(x_tH, group, sides, *weights_NH)  # type: ignore[no-untyped-call]
    return taken


def _as_it_is(tensor: Tensor, _group: TensorParallelGroup) -> Tensor:
    return tensor


def _start_all_reduce(dgrad_TH: Tensor, group: TensorParallelGroup, *, where: str) -> Pending:
    return group.collectives.start_all_reduce(dgrad_TH, where=where)


_PRODUCTS: Mapping[Arrangement, Products] = MappingProxyType(
    {
        Arrangement.COLUMN_ROW: Products(
            partial(_column_first, place="backward"), COLUMN_ROW.second
        ),
        Arrangement.COLUMN_COLUMN: Products(
            partial(_column_first, place="input.backward"), COLUMN_COLUMN.second
        ),
        Arrangement.SEQUENCE_PARALLEL: Products(
            partial(_gathered_first, keeps_gathered=False), SEQUENCE_PARALLEL.second
        ),
        Arrangement.SEQUENCE_PARALLEL_KEPT: Products(
            partial(_gathered_first, keeps_gathered=True), SEQUENCE_PARALLEL_KEPT.second
        ),
    }
)

BACKWARD = OverlapMode(_PRODUCTS)
