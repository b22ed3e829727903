"""A whole pre-norm transformer layer: attention and MLP, each with its norm and its residual.

Legend: T tokens, H hidden.

    h_TH = x_TH + attention(norm(x_TH));   y_TH = h_TH + mlp(norm(h_TH))

Norms and residuals run on every rank alike; f, which follows each norm, makes the gradient of the
norm's weight whole on every rank. Where tokens are dealt to the ranks, so are norms and residuals,
and a rank's gradient of a norm's weight is its tokens' part: Megatron-LM sums those once a batch,
all layers together, which is no part of a step here.

LayerNorm stands for either kind of norm: in eager torch it is one kernel forward and one backward
on CPU and CUDA alike, where RMSNorm on a CPU is a chain of pointwise passes (four times slower at
hidden 256 to 1024) that would count as compute of the block.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.group import TensorParallelGroup
from workers.tp.sharded_block import ShardedBlock


@dataclass(frozen=True, slots=True)
class LayerShard:
    """One rank's part of the layer; the norms' weights are whole on every rank."""

    attention_norm: Tensor
    """[H]."""
    attention: ShardedBlock
    mlp_norm: Tensor
    """[H]."""
    mlp: ShardedBlock

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """Norm, attention's, norm, MLP's: the order in which forward reads them."""
        return (
            self.attention_norm,
            *self.attention.weights,
            self.mlp_norm,
            *self.mlp.weights,
        )

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """Return y_TH of contiguous x_TH."""
        hidden = x_TH.shape[1]
        normed_TH = F.layer_norm(x_TH, (hidden,), self.attention_norm)
        x_TH = x_TH + self.attention.forward(normed_TH, group, batch=batch)
        normed_TH = F.layer_norm(x_TH, (hidden,), self.mlp_norm)
        return x_TH + self.mlp.forward(normed_TH, group, batch=batch)
