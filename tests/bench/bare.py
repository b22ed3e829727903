"""The least that a step could be: a block's kernels and collectives, written out one by one.

No autograd, no modules; every result of a product goes into memory that is there. Of one sequence
with as many key-value heads as query heads, on a CPU.

Legend: T tokens, H hidden; of one rank: F inner width, A heads, D head_dim, W = 3*A.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from workers.contract.axes import Block
from workers.contract.point import PointSpec
from workers.contract.workload import heads_per_rank
from workers.tp.group import TensorParallelGroup

EPSILON = 1e-5
"""torch's own in a norm."""

ATEN = torch.ops.aten


class BareBlock(Protocol):
    """Forward and backward of one block; what it returns is overwritten by the next call."""

    def give(self, x_TH: Tensor) -> Tensor:
        """y_TH."""
        ...

    def take(self, x_TH: Tensor, grad_TH: Tensor) -> Tensor:
        """dx_TH, after the gradients of the weights; `give` came before."""
        ...


class BareMlp:
    """Two products and GELU, four products and its gradient; `activates` False leaves GELU out."""

    def __init__(
        self, weights: Sequence[Tensor], group: TensorParallelGroup, *, tokens: int, activates: bool
    ) -> None:
        self._up_FH, self._down_HF = weights
        self._group, self._activates = group, activates
        inner, hidden = self._up_FH.shape
        new = self._up_FH.new_empty
        self._up_TF, self._dinner_TF = new(tokens, inner), new(tokens, inner)
        self._inner_TF = new(tokens, inner) if activates else self._up_TF
        self._y_TH, self._dx_TH = new(tokens, hidden), new(tokens, hidden)
        self._dup_FH, self._ddown_HF = new(inner, hidden), new(hidden, inner)

    def give(self, x_TH: Tensor) -> Tensor:
        """One all-reduce."""
        torch.mm(x_TH, self._up_FH.T, out=self._up_TF)
        if self._activates:
            ATEN.gelu.out(self._up_TF, out=self._inner_TF)
        torch.mm(self._inner_TF, self._down_HF.T, out=self._y_TH)
        return self._group.collectives.all_reduce(self._y_TH, where="mlp.forward")

    def take(self, x_TH: Tensor, grad_TH: Tensor) -> Tensor:
        """One all-reduce."""
        torch.mm(grad_TH, self._down_HF, out=self._dinner_TF)
        torch.mm(grad_TH.T, self._inner_TF, out=self._ddown_HF)
        if self._activates:
            ATEN.gelu_backward.grad_input(self._dinner_TF, self._up_TF, grad_input=self._dinner_TF)
        torch.mm(self._dinner_TF, self._up_FH, out=self._dx_TH)
        torch.mm(self._dinner_TF.T, x_TH, out=self._dup_FH)
        return self._group.collectives.all_reduce(self._dx_TH, where="mlp.backward")


class BareAttention:
    """One product for q, k and v, torch's fused attention, one product; and back."""

    def __init__(
        self, weights: Sequence[Tensor], group: TensorParallelGroup, *, tokens: int, heads: int
    ) -> None:
        self._mixed_WH, self._output_HA = weights
        self._group, self._heads = group, heads
        width, hidden = self._mixed_WH.shape
        new = self._mixed_WH.new_empty
        self._mixed_TW, self._dmixed_TW = new(tokens, width), new(tokens, width)
        self._dattended_TA = new(tokens, width // 3)
        self._y_TH, self._dx_TH = new(tokens, hidden), new(tokens, hidden)
        self._dmixed_WH = torch.empty_like(self._mixed_WH)
        self._doutput_HA = torch.empty_like(self._output_HA)
        self._kept: tuple[Tensor, ...] = ()

    def give(self, x_TH: Tensor) -> Tensor:
        """One all-reduce."""
        torch.mm(x_TH, self._mixed_WH.T, out=self._mixed_TW)
        q, k, v = self._split(self._mixed_TW, 3)
        self._kept = ATEN._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)  # noqa: FBT003 - has no names for them
        torch.mm(self._attended(), self._output_HA.T, out=self._y_TH)
        return self._group.collectives.all_reduce(self._y_TH, where="attention.forward")

    def take(self, x_TH: Tensor, grad_TH: Tensor) -> Tensor:
        """One all-reduce."""
        torch.mm(grad_TH, self._output_HA, out=self._dattended_TA)
        torch.mm(grad_TH.T, self._attended(), out=self._doutput_HA)
        (dattended,) = self._split(self._dattended_TA, 1)
        gradients = ATEN._scaled_dot_product_flash_attention_for_cpu_backward(
            dattended,
            *self._split(self._mixed_TW, 3),
            *self._kept,
            0.0,
            True,  # noqa: FBT003
        )
        for room, gradient in zip(self._split(self._dmixed_TW, 3), gradients, strict=True):
            room.copy_(gradient)
        torch.mm(self._dmixed_TW, self._mixed_WH, out=self._dx_TH)
        torch.mm(self._dmixed_TW.T, x_TH, out=self._dmixed_WH)
        return self._group.collectives.all_reduce(self._dx_TH, where="attention.backward")

    def _attended(self) -> Tensor:
        """[T, A*D]."""
        tokens = self._mixed_TW.shape[0]
        return self._kept[0].transpose(1, 2).reshape(tokens, -1)

    def _split(self, joined: Tensor, parts: int) -> tuple[Tensor, ...]:
        """[T, parts*A*D] as [1, A, T, D] each."""
        tokens = joined.shape[0]
        return joined.view(1, tokens, parts, self._heads, -1).permute(2, 0, 3, 1, 4).unbind()


class BareLayer:
    """Both, each with its norm and its residual."""

    def __init__(self, norms: Sequence[Tensor], attention: BareAttention, mlp: BareMlp) -> None:
        self._norms_H, self._attention, self._mlp = norms, attention, mlp
        self._first: tuple[Tensor, ...] = ()
        self._second: tuple[Tensor, ...] = ()
        self._h_TH = torch.empty(0)

    def give(self, x_TH: Tensor) -> Tensor:
        """Two all-reduces."""
        shape = x_TH.shape[1:]
        self._first = ATEN.native_layer_norm(x_TH, shape, self._norms_H[0], None, EPSILON)
        self._h_TH = torch.add(x_TH, self._attention.give(self._first[0]))
        self._second = ATEN.native_layer_norm(self._h_TH, shape, self._norms_H[1], None, EPSILON)
        return self._mlp.give(self._second[0]).add_(self._h_TH)

    def take(self, x_TH: Tensor, grad_TH: Tensor) -> Tensor:
        """Two all-reduces."""
        normed_TH, *moments = self._second
        dnormed_TH = self._mlp.take(normed_TH, grad_TH)
        dh_TH = _norm_backward(dnormed_TH, self._h_TH, moments, self._norms_H[1]).add_(grad_TH)
        normed_TH, *moments = self._first
        dnormed_TH = self._attention.take(normed_TH, dh_TH)
        return _norm_backward(dnormed_TH, x_TH, moments, self._norms_H[0]).add_(dh_TH)


class BareStep:
    """A bare block on one input."""

    has_backward = True

    def __init__(self, block: BareBlock, x_TH: Tensor, grad_TH: Tensor) -> None:
        self._block, self._x_TH, self._grad_TH = block, x_TH, grad_TH

    def forward(self) -> Tensor:
        """y_TH."""
        return self._block.give(self._x_TH)

    def backward(self, output: Tensor) -> None:
        """Gradients of the input and of every weight."""
        del output
        self._block.take(self._x_TH, self._grad_TH)


def bare_block(spec: PointSpec, weights: Sequence[Tensor], group: TensorParallelGroup) -> BareBlock:
    """Return what `spec` asks for, over one rank's weights in the order of `plan_weights`."""
    weights = [weight.detach() for weight in weights]
    tokens, (heads, _) = spec.num_tokens, heads_per_rank(spec.model, spec.tp_degree)
    match spec.block:
        case Block.MLP:
            return BareMlp(weights, group, tokens=tokens, activates=True)
        case Block.ATTENTION:
            return BareAttention(weights, group, tokens=tokens, heads=heads)
        case Block.LAYER:
            attention = BareAttention(weights[1:3], group, tokens=tokens, heads=heads)
            mlp = BareMlp(weights[4:], group, tokens=tokens, activates=True)
            return BareLayer((weights[0], weights[3]), attention, mlp)


def _norm_backward(
    grad_TH: Tensor, x_TH: Tensor, moments: Sequence[Tensor], weight_H: Tensor
) -> Tensor:
    wanted = [True, True, False]
    shape = x_TH.shape[1:]
    dx_TH: Tensor
    dx_TH, _, _ = ATEN.native_layer_norm_backward(
        grad_TH, x_TH, shape, *moments, weight_H, None, wanted
    )
    return dx_TH
