"""Which implementation of the collectives a point may name, and which devices have it."""

from collections.abc import Collection, Sequence

from workers.contract.axes import Collective, CollectiveImpl, Dtype
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.sharding import Rejection, working_degrees
from workers.contract.workload import expected_messages

X86_64 = ("x86_64", "AMD64")
"""Names of the only machines on which the memory ordering of shared_memory holds."""

SYMMETRIC = (CollectiveImpl.ONE_SHOT, CollectiveImpl.TWO_SHOT)

SYMMETRIC_DEGREES = (2, 4, 8)
"""For other sizes torch has no kernel, or one that adds in another order on each rank."""

SYMMETRIC_DTYPES = (Dtype.FLOAT32, Dtype.BFLOAT16)

SYMMETRIC_ALIGNMENT = 4
"""Bytes that divide a message which its kernels take."""


def impls_of(node: NodeFacts) -> tuple[CollectiveImpl, ...]:
    """Return what runs on a node's devices.

    A node whose dispatcher does not say what machine it is gets the benefit of the doubt.
    """
    if node.hardware.memory_class_gib:
        return (CollectiveImpl.BACKEND, *SYMMETRIC)
    if node.environment.machine in ("", *X86_64):
        return (CollectiveImpl.BACKEND, CollectiveImpl.SHARED_MEMORY)
    return (CollectiveImpl.BACKEND,)


def degrees_of_group(points: Sequence[Measurable], degrees: Collection[int]) -> tuple[int, ...]:
    """Return the degrees of the group that measures a trial's points; the last one is its size.

    `degrees` are the sweep's, so that its trials share processes. Over symmetric memory the ranks
    have no others beside them: their rendezvous counts in a number of the whole process, and one of
    a larger group would then wait for ever for the ranks that were left out (pytorch#196082).
    """
    own = points[0].tp_degree
    is_apart = own > 1 and any(point.collective_impl in SYMMETRIC for point in points)
    largest = own if is_apart else max(degrees)
    return tuple(sorted({degree for degree in degrees if degree <= largest}))


def judge_impl(spec: PointSpec) -> Rejection | None:
    """Return why no device whatever runs the point's collectives as it asks, or None."""
    impl, degree = spec.collective_impl, spec.tp_degree
    if rejection := _judge_operations(spec):
        return rejection
    if impl not in SYMMETRIC or degree == 1:
        return None
    if degree not in SYMMETRIC_DEGREES:
        valid = (1, *SYMMETRIC_DEGREES)
        degrees = tuple(d for d in working_degrees(spec) if d in valid)
        reason = f"torch has {impl} for tp_degree 2, 4 and 8, not {degree}"
        return _rejection(spec, reason, degrees=degrees)
    if spec.dtype not in SYMMETRIC_DTYPES:
        return _rejection(spec, f"torch has {impl} for float32 and bfloat16, not {spec.dtype}")
    size = spec.num_tokens * spec.model.hidden_size * spec.dtype.num_bytes
    if size % SYMMETRIC_ALIGNMENT:
        return _rejection(
            spec, f"{impl} takes messages of whole {SYMMETRIC_ALIGNMENT} bytes, not of {size}"
        )
    return None


def _judge_operations(spec: PointSpec) -> Rejection | None:
    """Return why an implementation of the all-reduce alone is not enough, or None where it is."""
    if spec.collective_impl is CollectiveImpl.BACKEND:
        return None
    ops = {message.op for message in expected_messages(spec)} - {Collective.ALL_REDUCE}
    if not ops:
        return None
    return _rejection(
        spec,
        f"{spec.collective_impl} has the all_reduce alone, and arrangement={spec.arrangement} "
        f"also needs {' and '.join(sorted(ops))}; collective_impl=backend works, and so does "
        "arrangement=column_row",
        degrees=(1,),
    )


def judge_impl_on(spec: PointSpec, nodes: Sequence[NodeFacts]) -> Rejection | None:
    """Return why none of these nodes has the implementation that the point asks for, or None."""
    works = {impl for node in nodes for impl in impls_of(node)}
    if spec.collective_impl in works:
        return None
    there = ", ".join(impl for impl in CollectiveImpl if impl in works)
    return _rejection(spec, f"the known devices lack {spec.collective_impl}; they have {there}")


def _rejection(spec: PointSpec, reason: str, *, degrees: tuple[int, ...] = ()) -> Rejection:
    return Rejection(
        spec=spec,
        field="collective_impl",
        value=spec.collective_impl,
        reason=reason,
        valid_tp_degrees=degrees,
    )
