"""Nothing is cut and nothing is sent: every rank does all of the work."""

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    del group, block
    return tuple([F.linear(x_TH, weight) for weight in weights])


def _second(inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str) -> Tensor:
    del group, block
    return F.linear(inner_Tn, weight)


REPLICATED = Products(_first, _second)
