"""Column then row on tokens that are dealt to the ranks outside the block (arXiv:2205.05198).

The all-reduce each way becomes a gather of tokens before the block and a reduce-scatter after it:
the same bytes, and between blocks, where norms and residuals are, 1/P of the activations. Backward
needs the gathered input for the weights' gradients: it gathers it once more, as Megatron-LM does.
"""

from functools import partial

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.arrangements.products import Products
from workers.tp.group import TensorParallelGroup
from workers.tp.moves import (
    gather_tokens,
    gather_tokens_for_products,
    move,
    scatter_tokens,
)


def _first(
    x_TH: Tensor, *weights: Tensor, group: TensorParallelGroup, block: str
) -> tuple[Tensor, ...]:
    return gather_tokens_for_products(
        x_TH,
        weights,
        group,
        forward=partial(gather_tokens, where=f"{block}.input.forward"),
        again=partial(gather_tokens, where=f"{block}.input.again.backward"),
        backward=partial(scatter_tokens, where=f"{block}.input.backward"),
    )


def scattered(
    inner_Tn: Tensor, weight: Tensor, *, group: TensorParallelGroup, block: str
) -> Tensor:
    """Return this rank's tokens of the output."""
    return move(
        F.linear(inner_Tn, weight),
        group,
        forward=partial(scatter_tokens, where=f"{block}.output.forward"),
        backward=partial(gather_tokens, where=f"{block}.output.backward"),
    )


SEQUENCE_PARALLEL = Products(_first, scattered)
