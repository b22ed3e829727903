"""Shows that a collective, a product or a copy gives what it should, before it is timed.

Legend: M rows, N columns, K what is summed over, P ranks.
"""

import math
from collections.abc import Sequence
from typing import assert_never

import torch
from torch import Tensor

from workers.contract.axes import Collective
from workers.contract.errors import CollectiveCountError, NumericsError
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Probe
from workers.contract.trial import Proof
from workers.tp.copying import CopyStep
from workers.tp.counter import CollectiveCounter, CountedMessage
from workers.tp.exchange import find_worst, gather_rows
from workers.tp.group import TensorParallelGroup
from workers.tp.product import ProductStep

MOST_ROWS = 16
"""Of a product that are compared: float64 on a CPU takes its time."""
WHERE = "alone"


def prove_probe(
    probe: Probe, *, group: TensorParallelGroup, device: torch.device, seed: int
) -> Proof:
    """Prove it on this group, or raise the same NumericsError or CollectiveCountError on all ranks.

    Called on all ranks of the group at once, with the same arguments. Nothing stays allocated.
    """
    match probe:
        case CollectiveProbe():
            return _prove_collective(probe, group, device)
        case GemmProbe():
            return _prove_product(probe, group, device, seed=seed)
        case CopyProbe():
            return _prove_copy(probe, group, device, seed=seed)
        case _:
            assert_never(probe)


def _prove_collective(
    probe: CollectiveProbe, group: TensorParallelGroup, device: torch.device
) -> Proof:
    """Send small whole numbers, which every element type adds without an error.

    What an implementation does once for a size, as to take memory together, comes before the count.
    """
    dtype: torch.dtype = getattr(torch, probe.dtype)
    what = f"a {probe.op} of {probe.message_bytes} bytes through {probe.collective_impl}"
    own = _numbers(probe, group.rank, device).to(dtype)
    _run(probe, own, group)
    with CollectiveCounter(wires=group.wires) as counter:
        found = _run(probe, own, group)
    _refuse_other_messages(counter.messages, what, probe, group, device)
    num_wrong = int((found != _result(probe, group, device).to(dtype)).sum())
    _refuse_wrong_elements(num_wrong, what, group, device)
    return _exact(probe, num_collectives=1, collective_bytes=probe.message_bytes)


def _numbers(probe: CollectiveProbe, rank: int, device: torch.device) -> Tensor:
    """What a rank gives: its part of a gather, else the whole array.

    At most 3 where they are added up: 64 ranks stay below the 256 that bfloat16 holds exactly.
    """
    dtype: torch.dtype = getattr(torch, probe.dtype)
    length = probe.message_bytes // dtype.itemsize
    if probe.op is Collective.ALL_GATHER:
        part = torch.arange(length // probe.tp_degree, dtype=torch.int32, device=device)
        return (part + rank) % 127
    return torch.arange(length, dtype=torch.int32, device=device) % 3 + rank % 2


def _run(probe: CollectiveProbe, own: Tensor, group: TensorParallelGroup) -> Tensor:
    match probe.op:
        case Collective.ALL_REDUCE:
            return group.collectives.all_reduce(own.clone(), where=WHERE)
        case Collective.ALL_GATHER:
            whole = own.new_empty(own.numel() * group.size)
            return group.collectives.all_gather(own, whole, where=WHERE)
        case Collective.REDUCE_SCATTER:
            part = own.new_empty(own.numel() // group.size)
            return group.collectives.reduce_scatter(own.clone(), part, where=WHERE)
        case Collective.SEND_RECV:
            raise ValueError(f"{probe.op} is not run by all ranks, and has no probe")
        case _:
            assert_never(probe.op)


def _result(probe: CollectiveProbe, group: TensorParallelGroup, device: torch.device) -> Tensor:
    """What this rank has to end up with."""
    if probe.op is Collective.ALL_GATHER:
        return torch.cat([_numbers(probe, rank, device) for rank in range(group.size)])
    total = _numbers(probe, 0, device)
    for rank in range(1, group.size):
        total += _numbers(probe, rank, device)
    return total if probe.op is Collective.ALL_REDUCE else total.chunk(group.size)[group.rank]


def _prove_product(
    probe: GemmProbe, group: TensorParallelGroup, device: torch.device, *, seed: int
) -> Proof:
    """Compare some rows with the same in float64: as many roundings as sqrt(K) terms make.

    The element type rounds the result, float32 the sum.
    """
    dtype: torch.dtype = getattr(torch, probe.dtype)
    step = ProductStep.draw(probe, seed=seed + group.rank, device=device)
    found_MN = step.forward()[:MOST_ROWS].double()
    expected_MN = step.x_MK[:MOST_ROWS].double() @ step.w_NK.double().T
    max_abs_error = float((found_MN - expected_MN).abs().max())
    max_rel_error = max_abs_error / float(expected_MN.abs().max())
    rounding = torch.finfo(dtype).eps + math.sqrt(probe.k) * torch.finfo(torch.float32).eps
    worst, error = find_worst(max_rel_error, group, device)
    if not error <= 4 * rounding:
        raise NumericsError(
            f"a product of {probe.m} x {probe.k} and {probe.k} x {probe.n} in {probe.dtype} is off "
            f"by {error:.2g} of its largest element on rank {worst}; "
            f"{4 * rounding:.2g} is the most that roundings explain"
        )
    return Proof(
        max_abs_error=max_abs_error,
        max_rel_error=max_rel_error,
        tolerance=4 * rounding,
        dtype="float64",
        num_collectives=0,
        collective_bytes=0,
    )


def _prove_copy(
    probe: CopyProbe, group: TensorParallelGroup, device: torch.device, *, seed: int
) -> Proof:
    """Compare all of it, bit by bit."""
    step = CopyStep.draw(probe, seed=seed + group.rank, device=device)
    num_wrong = int((step.forward() != step.source).sum())
    _refuse_wrong_elements(num_wrong, f"a copy of {probe.copied_bytes} bytes", group, device)
    return _exact(probe, num_collectives=0, collective_bytes=0)


def _refuse_wrong_elements(
    num_wrong: int, what: str, group: TensorParallelGroup, device: torch.device
) -> None:
    """Raise the same NumericsError on all ranks where any of them has a wrong element."""
    worst, num_worst = find_worst(num_wrong, group, device)
    if num_worst:
        raise NumericsError(f"{num_worst:.0f} elements of {what} are wrong on rank {worst}")


def _refuse_other_messages(
    messages: Sequence[CountedMessage],
    what: str,
    probe: CollectiveProbe,
    group: TensorParallelGroup,
    device: torch.device,
) -> None:
    """Raise the same CollectiveCountError on all ranks where any sent more or less than asked."""
    sizes = [message.message_bytes for message in messages]
    num_others = sum(message.op != probe.op for message in messages)
    rows = gather_rows([len(sizes), sum(sizes), num_others], group, device)
    for rank, (num_sent, num_bytes, others) in enumerate(rows):
        if (num_sent, num_bytes, others) != (1, probe.message_bytes, 0):
            raise CollectiveCountError(
                f"{what} was {num_sent:.0f} collectives of {num_bytes:.0f} bytes together, "
                f"{others:.0f} of them of another kind, on rank {rank}"
            )


def _exact(probe: Probe, *, num_collectives: int, collective_bytes: int) -> Proof:
    """Every bit is as it should be, in the probe's own type."""
    return Proof(
        max_abs_error=0,
        max_rel_error=0,
        tolerance=0,
        dtype=probe.dtype.value,
        num_collectives=num_collectives,
        collective_bytes=collective_bytes,
    )
