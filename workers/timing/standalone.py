"""Overlapped collectives on their own: what they take when nothing else runs.

While compute goes on no time around such a call is the collective's own, so it is measured bare, in
turns with the step it belongs to. It says how much there was to hide; it is no part of the step.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from workers.contract.axes import Collective
from workers.contract.workload import Message
from workers.timing.spans import Inner


class StandaloneStep:
    """The collectives of some messages, one after the other, each waited for.

    The one before is the fence of the next: a rank leaves it only once all others have come.
    """

    def __init__(
        self,
        collectives: Inner,
        *,
        messages: Sequence[Message],
        num_ranks: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Normal numbers, as the step's own messages are."""
        self._collectives, self._messages, self._num_ranks = collectives, messages, num_ranks
        largest = max(message.message_bytes for message in messages) // dtype.itemsize
        self._whole = torch.randn(largest, device=device).to(dtype)
        self._part = self._whole[: largest // num_ranks].clone()
        self.has_backward = False

    def forward(self) -> Tensor:
        """Run each of them once."""
        for message in self._messages:
            num_elements = message.message_bytes // self._whole.itemsize
            whole = self._whole[:num_elements]
            self._run(message, whole, self._part[: num_elements // self._num_ranks])
        return self._whole

    def backward(self, output: Tensor) -> None:
        """Nothing."""

    def _run(self, message: Message, whole: Tensor, part: Tensor) -> None:
        match message.op:
            case Collective.ALL_REDUCE:
                self._collectives.all_reduce(whole, where=message.where)
                whole.div_(self._num_ranks)  # else sums of sums would soon be infinite
            case Collective.ALL_GATHER:
                self._collectives.all_gather(part, whole, where=message.where)
            case Collective.REDUCE_SCATTER:
                self._collectives.reduce_scatter(whole, part, where=message.where)
            case Collective.SEND_RECV:
                raise ValueError(f"{message.where} is never overlapped")
