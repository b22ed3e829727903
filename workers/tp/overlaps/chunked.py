"""The batch in two halves: what one of them sends goes on while the other is computed.

Legend: T tokens, h = T/2 those of one half, H hidden.

    forward    half a -> start its sum | half b -> start its sum | wait for both
    backward   half b -> start its sum | half a -> start its sum | wait for both

In each direction the sum of the half that comes first has the other half's products to hide under,
the last one has nothing: fine-grained overlap within one block hides half of what is sent. The
weights' gradients of the halves are added, and both ways the halves are put together again.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workers.contract.axes import Arrangement
from workers.tp.arrangements.column_row import COLUMN_ROW
from workers.tp.group import Collectives, PassedOn, Pending, TensorParallelGroup
from workers.tp.overlaps.mode import OverlapMode
from workers.tp.sharded_block import ShardedBlock


@dataclass(frozen=True, slots=True)
class HalvedBlock:
    """A block in halves of its batch: twice the same weights, each with the half's own cache."""

    halves: tuple[ShardedBlock, ShardedBlock]

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """Those of either half: they are the same tensors."""
        return self.halves[0].weights

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """Return y_TH of contiguous x_TH, both replicated."""
        sent = _Started(group.collectives)
        sending = group.with_collectives(sent)
        parts_hH: tuple[Tensor, ...] = _Split.apply(x_TH, sent)  # type: ignore[no-untyped-call]
        outs_hH = [
            half.forward(part_hH, sending, batch=batch // 2)
            for half, part_hH in zip(self.halves, parts_hH, strict=True)
        ]
        out_TH: Tensor = _Join.apply(sent, *outs_hH)  # type: ignore[no-untyped-call]
        return out_TH


class _Started(PassedOn):
    """Collectives whose sums are only started: what they return is not there before `wait`.

    Nothing reads it before: in forward a half's output goes to `_Join`, in backward the gradient of
    its input to `_Split`. An arrangement that is halved sends nothing else.
    """

    def __init__(self, inner: Collectives) -> None:
        super().__init__(inner)
        self._pending: list[Pending] = []

    def wait(self) -> None:
        """Wait for all that was started."""
        for one in self._pending:
            one.wait()
        self._pending.clear()

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Start the sum, which is taken in place."""
        self._pending.append(self._inner.start_all_reduce(tensor, where=where))
        return tensor


class _Context(Protocol):
    sent: _Started


class _Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Context, x_TH: Tensor, sent: _Started) -> tuple[Tensor, ...]:
        ctx.sent = sent
        return x_TH.chunk(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, *grads_hH: Tensor) -> tuple[Tensor, None]:
        ctx.sent.wait()
        return torch.cat(grads_hH), None


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: _Context, sent: _Started, *outs_hH: Tensor) -> Tensor:
        sent.wait()
        return torch.cat(outs_hH)

    @staticmethod
    @once_differentiable
    def backward(_ctx: _Context, grad_TH: Tensor) -> tuple[Tensor | None, ...]:
        return None, *grad_TH.chunk(2)


CHUNKED = OverlapMode({Arrangement.COLUMN_ROW: COLUMN_ROW}, is_halved=True)
