"""Row then row: the first product is a sum over the ranks, of which each needs only its part.

So it is reduce-scattered before the activation, which is the cheapest way; the second product is
all-reduced as in column-row.
"""

from functools import partial

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.linear import row_parallel
from workers.tp.moves import gather_columns, move, own_columns, scatter_columns


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    own_Th = move(
        x_TH,
        group,
        forward=own_columns,
        backward=partial(gather_columns, where=f"{block}.input.backward"),
    )
    there = partial(scatter_columns, where=f"{block}.inner.forward")
    back = partial(gather_columns, where=f"{block}.inner.backward")
    return tuple(
        [move(F.linear(own_Th, weight), group, forward=there, backward=back) for weight in weights]
    )


def _second(inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str) -> Tensor:
    return row_parallel(inner_Tn, weight, group=group, where=f"{block}.output.forward")


ROW_ROW = Products(_first, _second)
