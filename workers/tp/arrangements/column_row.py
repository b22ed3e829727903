"""Column then row: one all-reduce each way (Megatron-LM, arXiv:1909.08053, section 3).

Between the matrices each rank works on its own columns alone, whatever is done element by element
or head by head: that is why nothing has to be sent there.
"""

from torch import Tensor

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.linear import column_parallel, row_parallel


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    return column_parallel(x_TH, *weights, group=group, where=f"{block}.backward")


def _second(inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str) -> Tensor:
    return row_parallel(inner_Tn, weight, group=group, where=f"{block}.forward")


COLUMN_ROW = Products(_first, _second)
