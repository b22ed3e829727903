"""Column then column: the second matrix wants all of the inner width, so it is gathered.

Each rank ends with its columns of the output, which are gathered as well: two messages each way,
one of them as wide as the inner width, and backward keeps the gathered inner activation.
"""

from functools import partial

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.linear import column_parallel
from workers.tp.moves import gather_columns, move, own_columns, scatter_columns


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    return column_parallel(x_TH, *weights, group=group, where=f"{block}.input.backward")


def _second(inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str) -> Tensor:
    inner_TN = move(
        inner_Tn,
        group,
        forward=partial(gather_columns, where=f"{block}.inner.forward"),
        backward=partial(scatter_columns, where=f"{block}.inner.backward"),
    )
    return move(
        F.linear(inner_TN, weight),
        group,
        forward=partial(gather_columns, where=f"{block}.output.forward"),
        backward=own_columns,
    )


COLUMN_COLUMN = Products(_first, _second)
