"""Row then column: the first product is a sum over the ranks, taken before the activation.

Every rank then activates all of the inner width: P times the work and memory there. Its second
matrix gives its columns of the output, which are gathered.
"""

from functools import partial

from torch import Tensor

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.linear import column_parallel, row_parallel
from workers.tp.moves import gather_columns, move, own_columns


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    own_Th = move(
        x_TH,
        group,
        forward=own_columns,
        backward=partial(gather_columns, where=f"{block}.input.backward"),
    )
    where = f"{block}.inner.forward"
    return tuple([row_parallel(own_Th, weight, group=group, where=where) for weight in weights])


def _second(inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str) -> Tensor:
    (out_Th,) = column_parallel(inner_Tn, weight, group=group, where=f"{block}.inner.backward")
    return move(
        out_Th,
        group,
        forward=partial(gather_columns, where=f"{block}.output.forward"),
        backward=own_columns,
    )


ROW_COLUMN = Products(_first, _second)
