"""A point in one line; what has its usual value is left out."""

from workers.contract.axes import Arrangement, CollectiveImpl, Launch, Overlap
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape


def point_name(spec: PointSpec) -> str:
    """Everything that tells it from others like it."""
    parts = [f"{model_name(spec.model)} {spec.block} {spec.phase}"]
    parts += [f"tp_degree {spec.tp_degree}", f"batch {spec.batch:,}"]
    parts += [f"seq {spec.seq:,}"] if spec.seq > 1 else []
    parts += [spec.dtype]
    parts += [spec.arrangement] if spec.arrangement is not Arrangement.COLUMN_ROW else []
    parts += [spec.collective_impl] if spec.collective_impl is not CollectiveImpl.BACKEND else []
    parts += [f"overlap {spec.overlap}"] if spec.overlap is not Overlap.NONE else []
    parts += [spec.launch] if spec.launch is not Launch.EAGER else []
    return ", ".join(parts)


def model_name(shape: ModelShape) -> str:
    """What a shape is called; without a name, its sizes."""
    return shape.name or f"{shape.hidden_size} x {shape.intermediate_size}"
