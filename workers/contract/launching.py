"""Which points a CUDA graph can record, and which devices can run one."""

from collections.abc import Sequence

from workers.contract.axes import CollectiveImpl, Launch, Overlap
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection


def judge_launch(spec: PointSpec) -> Rejection | None:
    """Return why the point cannot be recorded into a graph, or None.

    Refused is what a graph was never seen to hold here: several streams of ours, and collectives
    other than NCCL's, whose buffers may move between recording and replay.
    """
    if spec.launch is Launch.EAGER:
        return None
    if spec.overlap is not Overlap.NONE:
        return _rejection(
            spec,
            f"launch=cuda_graph records one stream, and overlap={spec.overlap} needs two; "
            "it works with overlap=none, and launch=eager works with either",
        )
    if spec.collective_impl is not CollectiveImpl.BACKEND and spec.tp_degree > 1:
        return _rejection(
            spec,
            "launch=cuda_graph records NCCL's collectives alone, not those of "
            f"collective_impl={spec.collective_impl}; it works with collective_impl=backend, and "
            "launch=eager works with either",
            degrees=(1,),
        )
    return None


def judge_launch_on(spec: PointSpec, nodes: Sequence[NodeFacts]) -> Rejection | None:
    """Return why none of these nodes can launch the point as it asks, or None."""
    if spec.launch is Launch.EAGER or any(node.hardware.memory_class_gib for node in nodes):
        return None
    return _rejection(
        spec, "launch=cuda_graph needs a CUDA device, and no known one is; launch=eager works"
    )


def _rejection(spec: PointSpec, reason: str, *, degrees: tuple[int, ...] = ()) -> Rejection:
    return Rejection(
        spec=spec, field="launch", value=spec.launch, reason=reason, valid_tp_degrees=degrees
    )
