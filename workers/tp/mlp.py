"""The MLP of a transformer layer, column- then row-parallel (Megatron-LM, arXiv:1909.08053).

Legend: T tokens, H hidden, F intermediate, P ranks.

    plain   y_TH = g(activation(f(x_TH) @ up^T) @ down^T)
    gated   y_TH = g((activation(f(x_TH) @ gate^T) * (f(x_TH) @ up^T)) @ down^T)

Gated: arXiv:2002.05202. Each rank holds gate and up [F/P, H] and down [H, F/P]. Gate and up are cut
one by one: cutting their concatenation would give the first ranks only gates, the last only ups.
"""

from dataclasses import dataclass

from torch import Tensor

from workers.contract.axes import Activation
from workers.tp.activation import activate
from workers.tp.arrangements.column_row import COLUMN_ROW
from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup


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
    products: Products = COLUMN_ROW
    """Shapes are given for column-row; `workers.tp.blocks` plans those of other arrangements."""

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """[gate,] up, down."""
        if self.gate is None:
            return self.up, self.down
        return self.gate, self.up, self.down

    def forward(
        self,
        x_TH: Tensor,
        group: TensorParallelGroup,
        *,
        batch: int,  # noqa: ARG002 - as attention's
    ) -> Tensor:
        """Return y_TH of contiguous x_TH, both replicated unless tokens are dealt to the ranks."""
        first, second = self.products.first, self.products.second
        if self.gate is None:
            (up_TF,) = first(x_TH, self.up, group=group, block="mlp")
            inner_TF = activate(up_TF, self.activation)
        else:
            gate_TF, up_TF = first(x_TH, self.gate, self.up, group=group, block="mlp")
            inner_TF = activate(gate_TF, self.activation) * up_TF
        return second(inner_TF, self.down, group=group, block="mlp")
