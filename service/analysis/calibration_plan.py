"""What a calibration leaves open, filled in from the devices that are known."""

import math
from collections.abc import Sequence

from service.analysis.plan import GROUP_START_S, TRIAL_OVERHEAD_S, candidates
from service.errors import FieldError, InvalidSpecError, QuotaError
from workers.contract.axes import CollectiveImpl, Dtype
from workers.contract.calibration import (
    COPIED_BYTES,
    PRODUCTS,
    CalibrationSpec,
    Probes,
    ProductGrid,
)
from workers.contract.hardware import NodeFacts
from workers.contract.implementations import impls_of
from workers.contract.sweep import Sampling

LEAST_SAMPLED_S = 0.02
"""A few steps of most probes; less would say little of any."""


def complete(
    spec: CalibrationSpec, *, nodes: Sequence[NodeFacts], max_points: int
) -> tuple[CalibrationSpec, Probes]:
    """Return the spec with nothing left open, and its probes.

    Raises InvalidSpecError where no device is known, or none that could run what is asked for, and
    QuotaError by arithmetic, before the probes exist.
    """
    found = candidates(spec, nodes)
    if not found:
        raise _refusal("/where", "no device is known yet; start a dispatcher, then calibrate")
    largest = max(node.num_slots for node in found)
    if too_many := [degree for degree in spec.tp_degree if degree > largest]:
        raise _refusal(
            "/tp_degree",
            f"{too_many[0]} ranks need as many devices on one node, and the largest known node has "
            f"{largest}",
        )
    works = {impl for node in found for impl in impls_of(node)}
    if missing := [impl for impl in spec.collective_impl if impl not in works]:
        raise _refusal(
            "/collective_impl",
            f"the known devices lack {missing[0]}; they have {', '.join(sorted(works))}",
        )
    is_cpu = all(not node.hardware.memory_class_gib for node in found)
    dtype = spec.dtype or (Dtype.FLOAT32 if is_cpu else Dtype.BFLOAT16)
    kind = "cpu" if is_cpu else "cuda"
    products = spec.products or PRODUCTS[kind]
    completed = spec.model_copy(
        update={
            "tp_degree": spec.tp_degree or _degrees(found),
            "collective_impl": spec.collective_impl or _impls(found),
            "dtype": dtype,
            "products": products,
            "copied_bytes": spec.copied_bytes or (COPIED_BYTES[kind],),
        }
    )
    _refuse_too_many(completed, products, max_points=max_points)
    probes = completed.probes(dtype=dtype, products=products)
    sampling = _within(completed, num_probes=len(probes.points))
    return completed.model_copy(update={"sampling": sampling}), probes


def _refuse_too_many(spec: CalibrationSpec, products: ProductGrid, *, max_points: int) -> None:
    counts = spec.combinations_by_field(products)
    total, most = sum(counts.values()), max(counts, key=counts.__getitem__)
    if total > max_points:
        detail = (
            f"the calibration has {total} combinations, {counts[most]} of them by this field, and "
            f"a sweep may have {max_points}"
        )
        raise QuotaError(f"{most}: {detail}", errors=(FieldError(pointer=most, detail=detail),))


def _within(spec: CalibrationSpec, *, num_probes: int) -> Sampling:
    """Sample each trial no longer than its share of the time. InvalidSpecError if that is none."""
    num_trials = spec.replicates * num_probes
    beside_s = spec.replicates * GROUP_START_S + num_trials * TRIAL_OVERHEAD_S
    share_s = (spec.time_s - beside_s) / num_trials
    if share_s < LEAST_SAMPLED_S:
        least_s = math.ceil(beside_s + num_trials * LEAST_SAMPLED_S)
        raise _refusal(
            "/time_s",
            f"{spec.time_s:g} s are too few for {spec.replicates} readings of {num_probes} probes, "
            f"which take at least {least_s}; fewer replicates, degrees or a smaller max_bytes may "
            "do",
        )
    longest_s = round(min(spec.sampling.max_time_s, share_s), 3)
    return spec.sampling.model_copy(update={"max_time_s": longest_s})


def _degrees(nodes: Sequence[NodeFacts]) -> tuple[int, ...]:
    """Powers of two; ranks that share a core tell nothing of a machine."""
    room = max(
        node.num_slots
        if node.hardware.memory_class_gib
        else min(node.num_slots, node.environment.num_cores)
        for node in nodes
    )
    return tuple(1 << power for power in range(room.bit_length()))


def _impls(nodes: Sequence[NodeFacts]) -> tuple[CollectiveImpl, ...]:
    shared = CollectiveImpl.SHARED_MEMORY
    has_it = all(shared in impls_of(node) for node in nodes)
    return (CollectiveImpl.BACKEND, shared) if has_it else (CollectiveImpl.BACKEND,)


def _refusal(pointer: str, detail: str) -> InvalidSpecError:
    return InvalidSpecError(
        f"{pointer}: {detail}", errors=(FieldError(pointer=pointer, detail=detail),)
    )
