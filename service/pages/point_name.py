"""A point in one line; what has its usual value is left out."""

from service.pages.figures import size
from workers.contract.axes import Arrangement, CollectiveImpl, Launch, Overlap
from workers.contract.point import PointSpec
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Measurable
from workers.contract.shapes import ModelShape


def point_name(spec: Measurable) -> str:
    """Everything that tells it from others like it."""
    match spec:
        case CollectiveProbe():
            parts = [f"{spec.op} of {size(spec.message_bytes)}"]
        case GemmProbe():
            parts = [f"product of {spec.m:,} x {spec.k:,} and {spec.k:,} x {spec.n:,}"]
        case CopyProbe():
            parts = [f"copy of {size(spec.copied_bytes)}"]
        case PointSpec():
            return _block_name(spec)
    parts += [f"tp_degree {spec.tp_degree}", spec.dtype]
    parts += [spec.collective_impl] if spec.collective_impl is not CollectiveImpl.BACKEND else []
    return ", ".join(parts)


def model_name(shape: ModelShape) -> str:
    """What a shape is called; without a name, its sizes."""
    return shape.name or f"{shape.hidden_size} x {shape.intermediate_size}"


def _block_name(spec: PointSpec) -> str:
    parts = [f"{model_name(spec.model)} {spec.block} {spec.phase}"]
    parts += [f"tp_degree {spec.tp_degree}", f"batch {spec.batch:,}"]
    parts += [f"seq {spec.seq:,}"] if spec.seq > 1 else []
    parts += [spec.dtype]
    parts += [spec.arrangement] if spec.arrangement is not Arrangement.COLUMN_ROW else []
    parts += [spec.collective_impl] if spec.collective_impl is not CollectiveImpl.BACKEND else []
    parts += [f"overlap {spec.overlap}"] if spec.overlap is not Overlap.NONE else []
    parts += [spec.launch] if spec.launch is not Launch.EAGER else []
    return ", ".join(parts)
