"""Which TP degrees a shape can be cut into, judged before anything is queued."""

from dataclasses import dataclass
from functools import lru_cache

from workers.contract.axes import Block
from workers.contract.frozen import Frozen
from workers.contract.point import LARGEST_TP_DEGREE, PointSpec
from workers.contract.shapes import ModelShape


class Rejection(Frozen):
    """A combination that cannot be measured: the field at fault, its value, and what would work."""

    spec: PointSpec
    field: str
    value: int | str
    reason: str
    valid_tp_degrees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why one shape does not divide."""

    field: str
    value: int | str
    reason: str


def judge(spec: PointSpec) -> Rejection | None:
    """Return why the point cannot be sharded, or None where it can."""
    obstacle = find_obstacle(spec.model, spec.block, tp_degree=spec.tp_degree)
    if obstacle is None:
        return None
    return Rejection(
        spec=spec,
        field=obstacle.field,
        value=obstacle.value,
        reason=obstacle.reason,
        valid_tp_degrees=valid_tp_degrees(spec.model, spec.block),
    )


@lru_cache(maxsize=1024)
def valid_tp_degrees(
    shape: ModelShape, block: Block, *, largest: int = LARGEST_TP_DEGREE
) -> tuple[int, ...]:
    """All degrees up to `largest` into which the block can be cut, replicated KV heads included.

    Kept, since a grid asks the same for each of its rejected combinations.
    """
    degrees = range(1, largest + 1)
    return tuple(t for t in degrees if find_obstacle(shape, block, tp_degree=t) is None)


def find_obstacle(shape: ModelShape, block: Block, *, tp_degree: int) -> Obstacle | None:
    """Return the first dimension of the block that tp_degree does not divide."""
    if block is Block.LAYER and shape.parallel_block:
        return Obstacle(
            field="block",
            value=Block.LAYER,
            reason="attention and MLP of this model run in parallel and merge their all-reduces, "
            "so a sequential layer would count twice what it runs; measure mlp and attention apart",
        )
    if block is not Block.MLP and (found := _attention_obstacle(shape, tp_degree)):
        return found
    if block is not Block.ATTENTION and shape.intermediate_size % tp_degree:
        return Obstacle(
            field="intermediate_size",
            value=shape.intermediate_size,
            reason=f"intermediate_size={shape.intermediate_size} is not divisible by "
            f"tp_degree={tp_degree}",
        )
    return None


def _attention_obstacle(shape: ModelShape, tp_degree: int) -> Obstacle | None:
    heads, kv_heads = shape.num_attention_heads, shape.num_key_value_heads
    if heads % tp_degree:
        return Obstacle(
            field="num_attention_heads",
            value=heads,
            reason=f"num_attention_heads={heads} is not divisible by tp_degree={tp_degree}",
        )
    if kv_heads % tp_degree and tp_degree % kv_heads:
        return Obstacle(
            field="num_key_value_heads",
            value=kv_heads,
            reason=f"num_key_value_heads={kv_heads} can neither be divided nor evenly replicated "
            f"over tp_degree={tp_degree}",
        )
    return None
