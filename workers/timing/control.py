import torch
from torch import Tensor

from workers.contract.axes import Pass
from workers.contract.control import CONTROL_GEMM_EXTENT, CONTROL_MESSAGE_BYTES
from workers.timing.clocks import Step
from workers.timing.spans import Inner

SEED = 1


class ControlGemm:
    """One matrix product of fixed size."""

    has_backward = False

    def __init__(self, device: torch.device) -> None:
        extent = CONTROL_GEMM_EXTENT[device.type]
        generator = torch.Generator(device).manual_seed(SEED)
        self._left, self._right = (
            torch.randn(extent, extent, generator=generator, device=device) for _ in range(2)
        )
        self._product = torch.empty_like(self._left)

    def forward(self) -> Tensor:
        """Multiply."""
        return torch.mm(self._left, self._right, out=self._product)

    def backward(self, output: Tensor) -> None:
        """Nothing."""


class ControlCollective:
    """One all-reduce of fixed size. The message is written anew, or its sums would overflow."""

    has_backward = False

    def __init__(self, collectives: Inner, device: torch.device) -> None:
        self._collectives = collectives
        generator = torch.Generator(device).manual_seed(SEED)
        length = CONTROL_MESSAGE_BYTES // torch.float32.itemsize
        self._values = torch.randn(length, generator=generator, device=device)
        self._message = torch.empty_like(self._values)

    def forward(self) -> Tensor:
        """Copy and sum."""
        self._message.copy_(self._values)
        return self._collectives.all_reduce(self._message, where="control")

    def backward(self, output: Tensor) -> None:
        """Nothing."""


def control_steps(collectives: Inner | None, device: torch.device) -> dict[Pass, Step]:
    """The control's passes, each run once already: what comes first is slow.

    All ranks that share `collectives` make theirs at the same moment; None for a rank alone.
    """
    steps: dict[Pass, Step] = {Pass.CONTROL_GEMM: ControlGemm(device)}
    if collectives is not None:
        steps[Pass.CONTROL_COLLECTIVE] = ControlCollective(collectives, device)
    for step in steps.values():
        step.forward()
    return steps
