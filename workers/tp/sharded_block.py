"""What one rank runs, whatever it is made of.

Legend: B batch, S sequence, T = B*S tokens, H hidden.
"""

from typing import Protocol

from torch import Tensor

from workers.tp.group import TensorParallelGroup


class ShardedBlock(Protocol):
    """A block on a matrix of tokens, sequence after sequence: 2-D operands keep products fast.

    See `workers.tp.mlp` for the simplest.
    """

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """Leaf tensors of this rank, in the order of the registry's plan."""
        ...

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """Return the output for contiguous x_TH of `batch` sequences, of its shape.

        Both are the same on every rank, or this rank's tokens; then `batch` does not count.
        """
        ...


def forward_sequences(block: ShardedBlock, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
    """Return the block's output for x_BSH in any layout, of its shape."""
    x_TH = x_BSH.reshape(-1, x_BSH.shape[-1]).contiguous()
    return block.forward(x_TH, group, batch=x_BSH.shape[0]).view(x_BSH.shape)
