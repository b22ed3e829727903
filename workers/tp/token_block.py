from typing import Protocol

from torch import Tensor

from workers.tp.group import TensorParallelGroup


class TokenBlock(Protocol):
    """A block on a matrix of tokens, sequence after sequence."""

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """Leaf tensors of this rank."""
        ...

    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        """y_TH of contiguous x_TH, which holds `batch` sequences."""
        ...
