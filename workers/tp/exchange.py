"""How the ranks of a proof agree: numbers of each of them, carried by sums over the group.

Legend: H hidden, D head_dim, K key-value heads of the whole model.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from workers.contract.errors import NumericsError
from workers.contract.point import PointSpec
from workers.tp.blocks import QUERY_KEY_VALUE, plan_weights
from workers.tp.findings import Findings
from workers.tp.group import TensorParallelGroup

WHERE = "proof"
"""Label of these collectives; none of them is part of a step."""


def sum_over_ranks(tensor: Tensor, group: TensorParallelGroup) -> Tensor:
    """Return the sum over ranks; takes ownership. A group of one sends nothing."""
    if group.size == 1:
        return tensor
    return group.collectives.all_reduce(tensor, where=WHERE)


def gather_rows(
    row: Sequence[float], group: TensorParallelGroup, device: torch.device
) -> list[list[float]]:
    """Return every rank's row of numbers, in order of rank.

    Each rank adds a one before its row. Where it does not come back as a one, the collectives do
    not sum, and no verdict exchanged through them can be trusted.
    """
    table = torch.zeros(group.size, 1 + len(row), dtype=torch.float64, device=device)
    table[group.rank] = torch.tensor([1.0, *row], dtype=torch.float64, device=device)
    rows: list[list[float]] = sum_over_ranks(table, group).tolist()
    if any(marker != 1 for marker, *_ in rows):
        markers = [marker for marker, *_ in rows]
        raise NumericsError(
            f"rank {group.rank}: an all-reduce of a one from each rank in turn gave {markers} "
            "instead of ones; likely the collectives do not sum over all ranks, each once"
        )
    return [rest for _, *rest in rows]


def largest_vote(vote: int, group: TensorParallelGroup, device: torch.device) -> int:
    """Return the largest of the ranks' votes, on each of them."""
    return int(max(other for (other,) in gather_rows([vote], group, device)))


def find_worst(error: float, group: TensorParallelGroup, device: torch.device) -> tuple[int, float]:
    """Return which rank is furthest off, and how far, on each of them; NaN is furthest of all."""
    errors = [other for (other,) in gather_rows([error], group, device)]
    worst = max(range(group.size), key=lambda rank: (math.isnan(errors[rank]), errors[rank]))
    return worst, errors[worst]


def exchange_findings(
    findings: Findings, group: TensorParallelGroup, device: torch.device
) -> list[Findings]:
    """Return what every rank found, in order of rank."""
    return [Findings.from_row(row) for row in gather_rows(findings.to_row(), group, device)]


def complete_gradients(
    spec: PointSpec, gradients: Sequence[Tensor], group: TensorParallelGroup
) -> tuple[Tensor, ...]:
    """Sum what ranks hold parts of, given this rank's gradients of its weights.

    Those of copied key-value heads, and of norms where each rank sees only its share of the tokens.
    """
    completed = list(sum_kv_copies(spec, gradients, group))
    if spec.layout.has_token_shards:
        for index, plan in enumerate(plan_weights(spec)):
            if not plan.fan_in:
                completed[index] = sum_over_ranks(completed[index].clone(), group)
    return tuple(completed)


def sum_kv_copies(
    spec: PointSpec, gradients: Sequence[Tensor], group: TensorParallelGroup
) -> tuple[Tensor, ...]:
    """Complete the gradients of replicated key-value heads, given this rank's weight gradients.

    A copy's gradient holds only what its rank's query heads asked of the head: the sum over the
    copies is the twin's gradient. Without copies nothing is sent.
    """
    names = [plan.name for plan in plan_weights(spec)]
    if spec.kv_copies == 1 or QUERY_KEY_VALUE not in names:
        return tuple(gradients)
    completed = list(gradients)
    index = names.index(QUERY_KEY_VALUE)
    query_rows = gradients[index].shape[0] - 2 * spec.model.head_dim
    query, key_value = gradients[index].split((query_rows, 2 * spec.model.head_dim))
    heads_KDH = key_value.new_zeros(spec.model.num_key_value_heads, *key_value.shape)
    head = group.rank // spec.kv_copies
    heads_KDH[head] = key_value
    completed[index] = torch.cat((query, sum_over_ranks(heads_KDH, group)[head]))
    return tuple(completed)


def num_odd_bits(tensor: Tensor, group: TensorParallelGroup) -> int:
    """Return how many elements differ from rank 0's in their bits, through sums of integers."""
    bits = tensor.contiguous().view(torch.int64 if tensor.dtype is torch.float64 else torch.int32)
    theirs = sum_over_ranks(bits.clone() if group.rank == 0 else torch.zeros_like(bits), group)
    return int((bits != theirs).sum())
