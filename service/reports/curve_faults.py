"""Doubts about a curve, for those who read it."""

from service.analysis.costmodel.accelerators import find_accelerator
from service.analysis.costmodel.collectives import FEWEST_RANKS
from service.analysis.costmodel.curve_noise import noise_of
from service.analysis.costmodel.faults import Suspicion, misfits, slow_link, suspicions
from service.analysis.nccl_tests.table import Table
from service.store.curves import Curve
from workers.contract.bandwidth import algbw_gb_per_s

HOST_MEMORY = "host_memory"
"""The link of ranks on a CPU."""

LARGEST_NODE = 8
"""Ranks beyond which a table that names no machines may come from several."""


def doubts(curve: Curve) -> tuple[Suspicion, ...]:
    """What no sound machine shows, by the fastest reading of each size: the others were disturbed.

    Of what was measured here by every trial, and judged against how far these differ; of what was
    brought in by the faster placement, and the least of several readings of one size.
    """
    table = curve.table
    readings: dict[int, list[float]] = {}
    for size, time in curve.readings or _placements(table):
        readings.setdefault(size, []).append(time)
    sizes = sorted(readings)
    fastest = [min(readings[size]) for size in sizes]
    noise = noise_of(readings) if curve.readings else 0.0
    if curve.link_class == HOST_MEMORY:
        return misfits(sizes, fastest, noise=noise)
    is_spread = spans_nodes(table)
    found = suspicions(sizes, fastest, spans_nodes=is_spread, noise=noise)
    slow = None if is_spread else _slow_link(curve, sizes[-1], fastest[-1])
    return (*found, slow) if slow else found


def _placements(table: Table) -> tuple[tuple[int, float], ...]:
    return tuple((row.message_bytes, time) for row in table.rows for time in row.times_us)


def spans_nodes(table: Table) -> bool:
    """Whether the ranks are on several machines, or may be."""
    if table.num_nodes is not None:
        return table.num_nodes > 1
    return table.num_ranks > LARGEST_NODE


def _slow_link(curve: Curve, message_bytes: int, time_us: float) -> Suspicion | None:
    accelerator = find_accelerator(curve.table.accelerator) or find_accelerator(curve.hardware)
    if accelerator is None or curve.table.num_ranks < FEWEST_RANKS:
        return None
    factor = curve.table.operation.bus_factor(curve.table.num_ranks)
    busbw = algbw_gb_per_s(message_bytes=message_bytes, time_us=time_us) * factor
    return slow_link(message_bytes, busbw, line_rate_gb_per_s=accelerator.link.gb_per_s)
