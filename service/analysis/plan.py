"""What of a sweep can be measured on the nodes that are known, before anything is queued."""

from collections.abc import Callable, Sequence

from service.errors import FieldError, InvalidSpecError, QuotaError
from workers.contract.expansion import Expansion
from workers.contract.hardware import NodeFacts
from workers.contract.implementations import judge_impl_on
from workers.contract.launching import judge_launch_on
from workers.contract.memory import estimated_bytes
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection, working_degrees
from workers.contract.sweep import SweepFrame, SweepSpec
from workers.contract.workload import cached_per_rank

GROUP_START_S = 6.0
"""Starting the processes of one replicate, on a slow machine."""
TRIAL_OVERHEAD_S = 0.05


def expand(spec: SweepSpec, *, nodes: Sequence[NodeFacts], max_points: int) -> Expansion:
    """Return the points that can be measured and those that can not, each with its reason.

    Raises QuotaError by arithmetic, before the grid exists, and InvalidSpecError where no known
    node is of the kind the sweep asks for.
    """
    _refuse_too_many(spec, max_points=max_points)
    possible = candidates(spec, nodes)
    expansion = spec.expand()
    if not possible:
        return expansion
    beside = _bytes_beside(expansion)
    return expansion.without(
        lambda point: (
            _judge(point, possible, beside=beside.get(point.spec_key, 0))
            or judge_impl_on(point, possible)
            or judge_launch_on(point, possible)
        )
    )


def refuse_nothing_left(expansion: Expansion) -> None:
    """Raise InvalidSpecError, with every reason, where no point can be measured."""
    if expansion.points:
        return
    reasons = dict.fromkeys((r.field, r.value, r.reason) for r in expansion.rejected)
    errors = tuple(
        FieldError(pointer=_pointer(field), detail=f"{reason}; got {value}")
        for field, value, reason in list(reasons)[:50]
    )
    degrees = sorted({degree for r in expansion.rejected for degree in r.valid_tp_degrees})
    hint = f"tp_degrees that would work for some: {', '.join(map(str, degrees))}"
    if not degrees:
        hint = expansion.rejected[0].reason
    raise InvalidSpecError(
        f"none of {len(expansion.rejected)} combinations can be measured; {hint}",
        errors=errors,
    )


def estimated_s(spec: SweepSpec, *, num_points: int) -> float:
    """How long the sweep takes on one node where every trial uses its whole time limit.

    Most stop earlier; one whose fewest steps take longer than its limit goes on beyond it.
    """
    per_replicate = GROUP_START_S + num_points * (spec.sampling.max_time_s + TRIAL_OVERHEAD_S)
    return spec.replicates * per_replicate if num_points else 0.0


def candidates(spec: SweepFrame, nodes: Sequence[NodeFacts]) -> list[NodeFacts]:
    """Return the nodes that may measure it; none where none is known.

    InvalidSpecError where nodes are known, but none of the kind that is asked for.
    """
    wanted = (spec.where.accelerator or "").lower()
    found = [node for node in nodes if wanted in node.hardware.accelerator.lower()]
    if nodes and not found:
        known = ", ".join(sorted({node.hardware.accelerator for node in nodes}))
        detail = f"no known node has such an accelerator; there are: {known}"
        pointer = "/where/accelerator"
        raise InvalidSpecError(
            f"{pointer}: {detail}; got {spec.where.accelerator!r}",
            errors=(FieldError(pointer=pointer, detail=detail),),
        )
    return found


def _refuse_too_many(spec: SweepSpec, *, max_points: int) -> None:
    if spec.num_combinations > max_points:
        msg = (
            f"the grid has {spec.num_combinations} combinations, and a sweep may have {max_points}"
        )
        raise QuotaError(msg, errors=(FieldError(pointer="", detail=msg),))


def _bytes_beside(expansion: Expansion) -> dict[str, int]:
    """What the other point of its pair needs on each rank, which holds both; by spec_key."""
    if not expansion.is_paired:
        return {}
    swapped = ((points, points[::-1]) for points in expansion.trials)
    return {
        point.spec_key: estimated_bytes(other)
        for points, others in swapped
        for point, other in zip(points, others, strict=True)
    }


def _judge(point: PointSpec, nodes: Sequence[NodeFacts], *, beside: int) -> Rejection | None:
    largest = max(node.num_slots for node in nodes)
    if point.tp_degree > largest:
        return Rejection(
            spec=point,
            field="tp_degree",
            value=point.tp_degree,
            reason=f"tp_degree={point.tp_degree} needs as many devices on one node, "
            f"and the largest known node has {largest}",
            valid_tp_degrees=_degrees(
                point, lambda p: any(p.tp_degree <= n.num_slots for n in nodes)
            ),
        )
    if _fits(point, nodes, beside=beside):
        return None
    return _too_large(point, nodes, beside=beside)


def _too_large(point: PointSpec, nodes: Sequence[NodeFacts], *, beside: int) -> Rejection:
    needed = estimated_bytes(point) + beside
    memory = max(n.slot_memory_bytes for n in nodes if n.num_slots >= point.tp_degree)
    batch = _largest_batch(point, room=memory - beside)
    return Rejection(
        spec=point,
        field="batch" if batch else "estimated_bytes",
        value=point.batch if batch else needed,
        reason=f"a rank needs an estimated {_gib(needed)} GiB{_cache(point)}"
        f"{' for both points of the pair' if beside else ''}, "
        f"and the largest known device has {_gib(memory)} GiB"
        + (f"; a batch up to {batch} fits" if batch else ""),
        valid_tp_degrees=_degrees(point, lambda p: _fits(p, nodes, beside=beside)),
    )


def _largest_batch(point: PointSpec, *, room: int) -> int:
    """The largest that fits, but for rounding, and 0 where not even one sequence does.

    What a point takes grows by as much with each sequence.
    """
    alone, all_of_it = (
        estimated_bytes(point.model_copy(update={"batch": batch})) for batch in (1, point.batch)
    )
    if alone > room or point.batch == 1:
        return 0
    return 1 + int((room - alone) / (all_of_it - alone + 1) * (point.batch - 1))


def _fits(point: PointSpec, nodes: Sequence[NodeFacts], *, beside: int) -> bool:
    needed = estimated_bytes(point) + beside
    return any(node.num_slots >= point.tp_degree and _has_room(node, needed) for node in nodes)


def _has_room(node: NodeFacts, needed: int) -> bool:
    """A node that could not tell its memory is given the benefit of the doubt."""
    return node.slot_memory_bytes == 0 or node.slot_memory_bytes >= needed


def _degrees(point: PointSpec, works: Callable[[PointSpec], bool]) -> tuple[int, ...]:
    degrees = working_degrees(point)
    return tuple(d for d in degrees if works(point.model_copy(update={"tp_degree": d})))


def _pointer(field: str) -> str:
    if field in {"tp_degree", "arrangement", "batch", "collective_impl", "overlap", "launch"}:
        return f"/{field}"
    return {"block": "/blocks", "estimated_bytes": ""}.get(field, f"/models/*/{field}")


def _cache(point: PointSpec) -> str:
    cached = cached_per_rank(point) * point.dtype.num_bytes
    if not cached:
        return ""
    return f" ({_gib(cached)} GiB of it for batch={point.batch} x seq={point.seq} cached tokens)"


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.1f}"
