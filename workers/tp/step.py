"""One step of a proof, of the twin or of a sharded block, and what it sends.

Legend: B batch, S sequence, H hidden.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor

from workers.contract.axes import Phase
from workers.contract.point import PointSpec
from workers.tp.counter import CollectiveCounter, CountedMessage
from workers.tp.group import TensorParallelGroup
from workers.tp.reference import cut_tokens
from workers.tp.sharded_block import ShardedBlock, forward_sequences


class StepInputs(NamedTuple):
    """x [B, S, H] and the gradient of the output, the same on every rank or cut by `own`.

    The latter is unused where the phase has no backward.
    """

    x: Tensor
    grad: Tensor

    @classmethod
    def draw(cls, spec: PointSpec, *, seed: int, device: torch.device, dtype: torch.dtype) -> Self:
        """Normal numbers of the CPU's generator, so that every rank draws the same."""
        generator = torch.Generator().manual_seed(seed % 2**63)
        shape = (2, spec.batch, spec.step_seq, spec.model.hidden_size)
        return cls(*torch.randn(shape, generator=generator, dtype=dtype).to(device))

    def own(self, spec: PointSpec, *, rank: int) -> Self:
        """Return what one rank sees of them: all, or its share of the tokens."""
        return type(self)(*(cut_tokens(spec, tensor, rank=rank) for tensor in self))

    def copy(self, dtype: torch.dtype, phase: Phase) -> Self:
        """Return a copy of its own, where x requires grad in training, as a layer's input does."""
        x_BSH = self.x.to(dtype, copy=True).requires_grad_(phase.has_backward)
        return self._replace(x=x_BSH, grad=self.grad.to(dtype, copy=True))


def run_step(
    forward: Callable[[Tensor], Tensor],
    weights: Sequence[Tensor],
    inputs: StepInputs,
    phase: Phase,
) -> tuple[Tensor, ...]:
    """Return the output and, in training, the gradients of the input and of every weight.

    A gradient that autograd does not reach is zero.
    """
    if not phase.has_backward:
        with torch.no_grad():
            return (forward(inputs.x),)
    output = forward(inputs.x)
    return output.detach(), *_backward(output, weights, inputs)


def run_stack(
    layers: Sequence[tuple[Callable[[Tensor], Tensor], Sequence[Tensor]]],
    inputs: StepInputs,
    phase: Phase,
    *,
    shown: int,
) -> tuple[Tensor, ...]:
    """Run layers one after the other, each a forward and its weights, and show one of them.

    Its output and, in training, the gradients of what it was given and of its weights.
    """
    given = [inputs.x]
    with torch.set_grad_enabled(phase.has_backward):
        for forward, _ in layers:
            given.append(forward(given[-1]))
    output = given[shown + 1].detach()
    if not phase.has_backward:
        return (output,)
    wanted = (given[shown], *layers[shown][1])
    gradients = torch.autograd.grad(
        given[-1], wanted, inputs.grad, allow_unused=True, materialize_grads=True
    )
    return output, *gradients


def count_step(
    block: ShardedBlock, inputs: StepInputs, group: TensorParallelGroup, phase: Phase
) -> tuple[list[CountedMessage], list[CountedMessage]]:
    """Return the collectives of one step's forward, and those of its backward."""
    counter = CollectiveCounter(wires=group.wires)
    with torch.set_grad_enabled(phase.has_backward), counter:
        output = forward_sequences(block, inputs.x, group)
        num_forward = len(counter.messages)
        if phase.has_backward:
            _backward(output, block.weights, inputs)
    return counter.messages[:num_forward], counter.messages[num_forward:]


def _backward(output: Tensor, weights: Sequence[Tensor], inputs: StepInputs) -> tuple[Tensor, ...]:
    return torch.autograd.grad(
        output,
        (inputs.x, *weights),
        inputs.grad,
        allow_unused=True,
        materialize_grads=True,
    )
