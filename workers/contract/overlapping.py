"""Which communication of a point can run under its compute, judged before anything is queued."""

from workers.contract.axes import Block, CollectiveImpl, Overlap
from workers.contract.layouts import LAYOUTS
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection, working_degrees


def judge_overlap(spec: PointSpec) -> Rejection | None:
    """Return why the point cannot overlap as it asks, or None.

    One rank alone has nothing to overlap and is measured as it is.
    """
    if spec.overlap is Overlap.NONE:
        return None
    if reason := _lacks_a_place(spec):
        return Rejection(
            spec=spec, field="overlap", value=spec.overlap, reason=reason, valid_tp_degrees=()
        )
    reason = _cannot_be_halved(spec) or _cannot_go_on(spec)
    if not reason or spec.tp_degree == 1:
        return None
    alone = tuple(degree for degree in working_degrees(spec) if degree == 1)
    return Rejection(
        spec=spec, field="overlap", value=spec.overlap, reason=reason, valid_tp_degrees=alone
    )


def _lacks_a_place(spec: PointSpec) -> str:
    if spec.overlap not in spec.layout.overlaps:
        possible = ", ".join(name for name, way in LAYOUTS.items() if spec.overlap in way.overlaps)
        return (
            f"overlap={spec.overlap} finds nothing in arrangement={spec.arrangement} that it could "
            f"run under a product; it works for arrangement {possible}, and "
            f"arrangement={spec.arrangement} works with overlap {', '.join(spec.layout.overlaps)}"
        )
    if spec.overlap is Overlap.BACKWARD and not spec.phase.has_backward:
        return (
            f"overlap=backward needs a backward, and phase={spec.phase} has none; it works for "
            f"phase=train, and phase={spec.phase} works with overlap none or chunked"
        )
    return ""


def _cannot_be_halved(spec: PointSpec) -> str:
    """Tokens of an MLP know nothing of one another; elsewhere a sequence stays whole."""
    is_by_tokens = spec.block is Block.MLP
    count = spec.num_tokens if is_by_tokens else spec.batch
    if spec.overlap is not Overlap.CHUNKED or count % 2 == 0:
        return ""
    return (
        f"overlap=chunked takes {'the tokens of a step' if is_by_tokens else 'the batch'} in two "
        f"halves, and there are {count}; any even number works"
    )


def _cannot_go_on(spec: PointSpec) -> str:
    if spec.collective_impl is CollectiveImpl.BACKEND:
        return ""
    return (
        f"overlap={spec.overlap} needs collectives that go on by themselves, and those of "
        f"collective_impl={spec.collective_impl} are run by the thread or on the stream that "
        "computes; collective_impl=backend works, and so does overlap=none"
    )
