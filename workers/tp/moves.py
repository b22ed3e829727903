"""What arrangements other than column-then-row send, each with what brings its gradient back.

Legend: T tokens, N any width, P ranks; a rank's part is [T/P, N] (tokens) or [T, N/P] (columns).

    forward        backward                       the forward result
    gather         reduce-scatter                 goes into products that differ from rank to rank
    gather         own part                       goes where all ranks do the same
    reduce-scatter gather                         was a partial sum
    own part       gather                         was the same on every rank

The gradient of something that all ranks hold alike is taken to be alike as well. Rows of a tensor
lie together, columns do not: a message of columns is copied into or out of a buffer of its own,
which is part of what such an arrangement costs. A group of one needs none of this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.group import Pending, TensorParallelGroup
from workers.tp.linear import input_gradient

Move = Callable[[Tensor, TensorParallelGroup], Tensor]
"""Makes another tensor of one, perhaps with the other ranks' help."""


def gather_tokens(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """[T/P, N] of each rank to [T, N]."""
    part, whole = _room_to_gather(tensor, group)
    return group.collectives.all_gather(part, whole, where=where)


def start_gather_tokens(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Pending:
    """Start the same."""
    part, whole = _room_to_gather(tensor, group)
    return group.collectives.start_all_gather(part, whole, where=where)


def _room_to_gather(tensor: Tensor, group: TensorParallelGroup) -> tuple[Tensor, Tensor]:
    part = tensor.contiguous()
    return part, part.new_empty(group.size * part.shape[0], part.shape[1])


def scatter_tokens(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """Partial sums [T, N] of each rank to [T/P, N] of their sum. Takes the partial sums over."""
    whole, part = _room_to_scatter(tensor, group)
    return group.collectives.reduce_scatter(whole, part, where=where)


def start_scatter_tokens(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Pending:
    """Start the same."""
    whole, part = _room_to_scatter(tensor, group)
    return group.collectives.start_reduce_scatter(whole, part, where=where)


def _room_to_scatter(tensor: Tensor, group: TensorParallelGroup) -> tuple[Tensor, Tensor]:
    whole = tensor.contiguous()
    return whole, whole.new_empty(whole.shape[0] // group.size, whole.shape[1])


def gather_columns(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """[T, N/P] of each rank to [T, N]."""
    stacked = gather_tokens(tensor, group, where=where)
    num_tokens, width = tensor.shape
    return stacked.view(group.size, num_tokens, width).transpose(0, 1).flatten(1)


def scatter_columns(tensor: Tensor, group: TensorParallelGroup, *, where: str) -> Tensor:
    """Partial sums [T, N] of each rank to [T, N/P] of their sum. Takes the partial sums over."""
    num_tokens, width = tensor.shape
    dealt = tensor.reshape(num_tokens, group.size, width // group.size)
    return scatter_tokens(dealt.transpose(0, 1).flatten(0, 1), group, where=where)


def own_columns(tensor: Tensor, group: TensorParallelGroup) -> Tensor:
    """[T, N] that every rank holds to this rank's [T, N/P]; nothing is sent."""
    return tensor.chunk(group.size, dim=1)[group.rank].contiguous()


def move(tensor: Tensor, group: TensorParallelGroup, *, forward: Move, backward: Move) -> Tensor:
    """Apply `forward`, and `backward` to the gradient of what it gave."""
    if group.size == 1:
        return tensor
    moved: Tensor = _Move.apply(tensor, group, forward, backward)  # type: ignore[no-untyped-call]
    return moved


def gather_tokens_for_products(
    x_TH: Tensor,
    weights_NH: Sequence[Tensor],
    group: TensorParallelGroup,
    *,
    forward: Move,
    again: Move,
    backward: Move,
) -> tuple[Tensor, ...]:
    """Return gathered x_TH @ W^T for each of the matrices, without keeping x_TH gathered.

    Backward gathers it `again` for the weights' gradients, then scatters the input's.
    """
    if group.size == 1:
        return tuple([F.linear(x_TH, weight_NH) for weight_NH in weights_NH])
    moves = _Moves(forward, again, backward)
    products: tuple[Tensor, ...] = _GatheredProducts.apply(x_TH, group, moves, *weights_NH)  # type: ignore[no-untyped-call]
    return products


@dataclass(frozen=True, slots=True)
class _Moves:
    forward: Move
    again: Move
    backward: Move


class _Context(Protocol):
    """What a move remembers from forward to backward."""

    group: TensorParallelGroup
    back: Move


class _ProductsContext(Protocol):
    """What the products remember: this rank's tokens, not the gathered ones."""

    group: TensorParallelGroup
    moves: _Moves
    saved_tensors: tuple[Tensor, ...]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _Context, tensor: Tensor, group: TensorParallelGroup, there: Move, back: Move
    ) -> Tensor:
        ctx.group, ctx.back = group, back
        return there(tensor, group)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.back(grad, ctx.group), None, None, None


class _GatheredProducts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _ProductsContext,
        x_TH: Tensor,
        group: TensorParallelGroup,
        moves: _Moves,
        *weights_NH: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.moves = group, moves
        ctx.save_for_backward(x_TH, *weights_NH)
        whole_TH = moves.forward(x_TH, group)
        return tuple([F.linear(whole_TH, weight_NH) for weight_NH in weights_NH])

    @staticmethod
    @once_differentiable
    def backward(ctx: _ProductsContext, *grads_TN: Tensor) -> tuple[Tensor | None, ...]:
        x_TH, *weights_NH = ctx.saved_tensors
        whole_TH = ctx.moves.again(x_TH, ctx.group)
        wgrads_NH = [grad_TN.T @ whole_TH for grad_TN in grads_TN]
        dgrad_TH = input_gradient(grads_TN, weights_NH)
        return ctx.moves.backward(dgrad_TH, ctx.group), None, None, *wgrads_NH
