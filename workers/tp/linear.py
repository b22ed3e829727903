"""Linear maps cut over the ranks of a group (Megatron-LM, arXiv:1909.08053, section 3).

Legend: T tokens, H hidden, N any width, P ranks. Weights are stored as
[out, in], the layout whose forward and both gradients are plain BLAS calls without a copy.

    column-parallel  W_NH = [W_0; W_1; ...] cut along N:  x_TH -> f -> x_TH @ W_i^T = y_i [T, N/P]
    row-parallel     W_HN = [W_0, W_1, ...] cut along N:  x_i [T, N/P] @ W_i^T -> g -> y_TH

Column then row needs nothing in between. No biases: they move no time.
"""

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.tp.group import TensorParallelGroup
from workers.tp.mappings import copy_to_ranks, reduce_from_ranks


def column_parallel(
    x_TH: Tensor, *weights_NH: Tensor, group: TensorParallelGroup, where: str
) -> tuple[Tensor, ...]:
    """Return this rank's columns x_TH @ W_i^T, [T, N/P], of each of the matrices that read x_TH.

    dgrad = all_reduce(sum over the matrices of grad_y @ W_i): one f, labelled `where`, for them
    all. wgrad = grad_y^T @ x_TH, local.
    """
    x_TH = copy_to_ranks(x_TH, group, where=where)
    return tuple([F.linear(x_TH, weight_NH) for weight_NH in weights_NH])


def input_gradient(grads_TN: Sequence[Tensor], weights_NH: Sequence[Tensor]) -> Tensor:
    """Return the sum of grad_i @ W_i, [T, H]: the gradient of what all of the matrices read."""
    dgrad_TH = grads_TN[0] @ weights_NH[0]
    for grad_TN, weight_NH in zip(grads_TN[1:], weights_NH[1:], strict=True):
        dgrad_TH.addmm_(grad_TN, weight_NH)
    return dgrad_TH


def row_parallel(
    x_TN: Tensor, weight_HN: Tensor, *, group: TensorParallelGroup, where: str
) -> Tensor:
    """Return y_TH, the sum over ranks of x_i @ W_i^T, through g, labelled `where`.

    dgrad = grad_y @ W_i and wgrad = grad_y^T @ x_i, both local.
    """
    return reduce_from_ranks(F.linear(x_TN, weight_HN), group, where=where)
