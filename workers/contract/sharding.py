"""Which TP degrees a shape can be cut into, judged before anything is queued."""

from dataclasses import dataclass
from functools import lru_cache

from workers.contract.axes import Arrangement, Block
from workers.contract.frozen import Frozen
from workers.contract.layouts import LAYOUTS
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
    obstacle = find_obstacle(
        spec.model, spec.block, tp_degree=spec.tp_degree, arrangement=spec.arrangement
    )
    obstacle = obstacle or _token_obstacle(spec)
    if obstacle is None:
        return None
    return Rejection(
        spec=spec,
        field=obstacle.field,
        value=obstacle.value,
        reason=obstacle.reason,
        valid_tp_degrees=working_degrees(spec),
    )


def working_degrees(spec: PointSpec) -> tuple[int, ...]:
    """All degrees at which the rest of the point can be sharded, its tokens included."""
    degrees = valid_tp_degrees(spec.model, spec.block, arrangement=spec.arrangement)
    if not spec.layout.has_token_shards:
        return degrees
    return tuple(degree for degree in degrees if spec.num_tokens % degree == 0)


@lru_cache(maxsize=1024)
def valid_tp_degrees(
    shape: ModelShape,
    block: Block,
    *,
    arrangement: Arrangement = Arrangement.COLUMN_ROW,
    largest: int = LARGEST_TP_DEGREE,
) -> tuple[int, ...]:
    """All degrees up to `largest` into which the block can be cut, replicated KV heads included.

    Kept, since a grid asks the same for each of its rejected combinations.
    """
    return tuple(
        degree
        for degree in range(1, largest + 1)
        if find_obstacle(shape, block, tp_degree=degree, arrangement=arrangement) is None
    )


def find_obstacle(
    shape: ModelShape,
    block: Block,
    *,
    tp_degree: int,
    arrangement: Arrangement = Arrangement.COLUMN_ROW,
) -> Obstacle | None:
    """Return the first dimension of the block that tp_degree does not divide."""
    layout = LAYOUTS[arrangement]
    obstacles = [_block_obstacle(shape, block, arrangement)]
    if block is not Block.MLP and not layout.is_whole:
        obstacles.append(_attention_obstacle(shape, tp_degree))
    if block is not Block.ATTENTION and layout.cuts_inner:
        obstacles.append(_width_obstacle("intermediate_size", shape.intermediate_size, tp_degree))
    if layout.cuts_hidden:
        obstacles.append(_width_obstacle("hidden_size", shape.hidden_size, tp_degree))
    return next(filter(None, obstacles), None)


def _block_obstacle(shape: ModelShape, block: Block, arrangement: Arrangement) -> Obstacle | None:
    if block is Block.LAYER and shape.parallel_block:
        return Obstacle(
            field="block",
            value=Block.LAYER,
            reason="attention and MLP of this model run in parallel and merge their all-reduces, "
            "so a sequential layer would count twice what it runs; measure mlp and attention apart",
        )
    if block in LAYOUTS[arrangement].blocks:
        return None
    possible = ", ".join(name for name, layout in LAYOUTS.items() if block in layout.blocks)
    if LAYOUTS[arrangement].splits_layers:
        reason = "gives each rank a whole layer of a stack; it works for block=layer"
    else:
        reason = (
            "would make queries, keys and values sums over the ranks, so that heads could not be "
            "attended to apart; it works for block=mlp"
        )
    return Obstacle(
        field="arrangement",
        value=arrangement,
        reason=f"arrangement={arrangement} {reason}, and block={block} works as {possible}",
    )


def _width_obstacle(field: str, width: int, tp_degree: int) -> Obstacle | None:
    if width % tp_degree == 0:
        return None
    return Obstacle(
        field=field,
        value=width,
        reason=f"{field}={width} is not divisible by tp_degree={tp_degree}",
    )


def _token_obstacle(spec: PointSpec) -> Obstacle | None:
    if not spec.layout.has_token_shards or spec.num_tokens % spec.tp_degree == 0:
        return None
    return Obstacle(
        field="batch",
        value=spec.batch,
        reason=f"batch={spec.batch} gives a step {spec.num_tokens} tokens, which cannot be dealt "
        f"evenly to tp_degree={spec.tp_degree} ranks, as arrangement={spec.arrangement} does",
    )


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
