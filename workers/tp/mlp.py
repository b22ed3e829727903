"""The MLP of a transformer layer, column- then row-parallel (Megatron-LM, arXiv:1909.08053).

Legend: B batch, S sequence, T = B*S tokens, H hidden, F intermediate, P ranks.

    plain   y_TH = g(activation(f(x_TH) @ up^T) @ down^T)
    gated   y_TH = g((activation(f(x_TH) @ gate^T) * (f(x_TH) @ up^T)) @ down^T)

Gated: arXiv:2002.05202. Each rank holds gate and up [F/P, H] and down [H, F/P]. Gate and up are cut
one by one: cutting their concatenation would give the first ranks only gates, the last only ups.
"""

from dataclasses import dataclass

from torch import Tensor

from workers.contract.axes import Activation
from workers.tp.activation import activate
from workers.tp.group import TensorParallelGroup
from workers.tp.linear import column_parallel, flatten_tokens, row_parallel


@dataclass(frozen=True, slots=True)
class MlpShard:
    """One rank's part of the MLP."""

    up: Tensor
    """[F/P, H]."""
    down: Tensor
    """[H, F/P]."""
    activation: Activation
    gate: Tensor | None = None
    """[F/P, H]; absent where the MLP is plain."""

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """[gate,] up, down."""
        if self.gate is None:
            return self.up, self.down
        return self.gate, self.up, self.down

    def forward(self, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        """Return the block's output, [B, S, H], replicated."""
        return self.forward_tokens(flatten_tokens(x_BSH), group).view(x_BSH.shape)

    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        """Return y_TH of contiguous x_TH, both replicated."""
        if self.gate is None:
            (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
            inner_TF = activate(up_TF, self.activation)
        else:
            gate_TF, up_TF = column_parallel(
                x_TH, self.gate, self.up, group=group, where="mlp.backward"
            )
            inner_TF = activate(gate_TF, self.activation) * up_TF
        return row_parallel(inner_TF, self.down, group=group, where="mlp.forward")
