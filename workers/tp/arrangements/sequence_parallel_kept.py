"""Sequence parallel, its gathered input kept for backward: a gather less, T*H more to hold."""

from functools import partial

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.products import Products
from workers.tp.arrangements.sequence_parallel import scattered
from workers.tp.group import TensorParallelGroup
from workers.tp.moves import gather_tokens, move, scatter_tokens


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    whole_TH = move(
        x_TH,
        group,
        forward=partial(gather_tokens, where=f"{block}.input.forward"),
        backward=partial(scatter_tokens, where=f"{block}.input.backward"),
    )
    return tuple([F.linear(whole_TH, weight) for weight in weights])


SEQUENCE_PARALLEL_KEPT = Products(_first, scattered)
