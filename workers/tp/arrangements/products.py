"""What an arrangement is: how its two products are taken, and what is sent before and after each.

Legend: T tokens, H hidden, N inner width; of one rank: n its part of N, or all of it.
"""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from workers.tp.group import TensorParallelGroup


class FirstProducts(Protocol):
    """x_TH @ W^T of each matrix that reads the block's input, [T, n]."""

    def __call__(
        self, x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
    ) -> tuple[Tensor, ...]:
        """Take the products."""
        ...


class SecondProduct(Protocol):
    """The block's output from what stands between the matrices, [T, n]; may take it over."""

    def __call__(
        self, inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str
    ) -> Tensor:
        """Take the product."""
        ...


@dataclass(frozen=True, slots=True)
class Products:
    """One arrangement. `block` begins the labels of its collectives."""

    first: FirstProducts
    second: SecondProduct
