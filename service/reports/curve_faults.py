"""Doubts about a curve, for those who read it."""

from service.analysis.costmodel.accelerators import find_accelerator
from service.analysis.costmodel.faults import Suspicion, misfits, slow_link, suspicions
from service.analysis.nccl_tests.table import Table
from service.store.curves import Curve
from workers.contract.bandwidth import algbw_gb_per_s

HOST_MEMORY = "host_memory"
"""The link of ranks on a CPU."""

LARGEST_NODE = 8
"""Ranks beyond which a table that names no machines may come from several."""


def doubts(curve: Curve) -> tuple[Suspicion, ...]:
    """What no sound machine shows, by the faster placement of each size: the other was disturbed.

    Time of several readings of one size is the least of them, for the same reason.
    """
    table = curve.table
    fastest: dict[int, float] = {}
    for row in table.rows:
        time = min(row.times_us)
        fastest[row.message_bytes] = min(time, fastest.get(row.message_bytes, time))
    sizes = sorted(fastest)
    if curve.link_class == HOST_MEMORY:
        return misfits(sizes, [fastest[size] for size in sizes])
    is_spread = spans_nodes(table)
    found = suspicions(sizes, [fastest[size] for size in sizes], spans_nodes=is_spread)
    slow = None if is_spread else _slow_link(curve, sizes[-1], fastest[sizes[-1]])
    return (*found, slow) if slow else found


def spans_nodes(table: Table) -> bool:
    """Whether the ranks are on several machines, or may be."""
    if table.num_nodes is not None:
        return table.num_nodes > 1
    return table.num_ranks > LARGEST_NODE


def _slow_link(curve: Curve, message_bytes: int, time_us: float) -> Suspicion | None:
    accelerator = find_accelerator(curve.table.accelerator) or find_accelerator(curve.hardware)
    if accelerator is None:
        return None
    factor = curve.table.operation.bus_factor(curve.table.num_ranks)
    busbw = algbw_gb_per_s(message_bytes=message_bytes, time_us=time_us) * factor
    return slow_link(message_bytes, busbw, line_rate_gb_per_s=accelerator.link.gb_per_s)
