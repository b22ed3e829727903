"""What a step has to do, by arithmetic: multiply-adds, bytes and collectives of one rank.

Legend: B batch, S sequence, H hidden, F intermediate, A heads, D head_dim, P tp_degree.
"""

from typing import assert_never

from workers.contract.axes import Block, Collective, Phase
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape


class Message(Frozen):
    """One collective of a step: where it runs and the bytes of its total array."""

    op: Collective
    where: str
    message_bytes: int


def expected_messages(spec: PointSpec) -> tuple[Message, ...]:
    """Collectives of one step in the order they run (Megatron-LM, arXiv 1909.08053, section 3).

    Column-then-row needs one all-reduce forward, after the row-parallel matrix (g), and in training
    one backward, for the gradient of the block's input (f). Each carries B*S*H elements.
    """
    if spec.tp_degree == 1:
        return ()
    blocks = ["attention", "mlp"] if spec.block is Block.LAYER else [str(spec.block)]
    places = [f"{block}.forward" for block in blocks]
    if spec.phase.has_backward:
        places += [f"{block}.backward" for block in reversed(blocks)]
    size = spec.num_tokens * spec.model.hidden_size * spec.dtype.num_bytes
    return tuple(
        Message(op=Collective.ALL_REDUCE, where=place, message_bytes=size) for place in places
    )


def flops_per_rank(spec: PointSpec) -> int:
    """Floating-point operations of one step on one rank, matrix products only.

    2 for each multiply-add; backward is twice forward (one product for the input's gradient, one
    for the weight's). Causal attention counts half of the S*S scores; in decode one token meets S
    cached ones and itself.
    """
    forward = 0
    if spec.block is not Block.ATTENTION:
        forward += 2 * spec.num_tokens * mlp_weights_per_rank(spec.model, spec.tp_degree)
    if spec.block is not Block.MLP:
        forward += 2 * spec.num_tokens * attention_weights_per_rank(spec.model, spec.tp_degree)
        width = spec.model.num_attention_heads // spec.tp_degree * spec.model.head_dim
        forward += 4 * spec.batch * _num_scores(spec) * width
    return forward * (3 if spec.phase.has_backward else 1)


def _num_scores(spec: PointSpec) -> int:
    """Pairs of a query and a key that it sees, in one head of one sequence."""
    match spec.phase:
        case Phase.TRAIN | Phase.PREFILL:
            return spec.seq * (spec.seq + 1) // 2
        case Phase.DECODE:
            return spec.seq + 1
        case _:
            assert_never(spec.phase)


def cached_per_rank(spec: PointSpec) -> int:
    """Elements of the cached keys and values of one rank, the step's own tokens included."""
    if spec.phase is not Phase.DECODE or spec.block is Block.MLP:
        return 0
    kv_heads = max(1, spec.model.num_key_value_heads // spec.tp_degree)
    return 2 * spec.batch * (spec.seq + 1) * kv_heads * spec.model.head_dim


def weights_per_rank(spec: PointSpec) -> int:
    """Elements of the weight matrices that one rank holds."""
    total = 0
    if spec.block is not Block.ATTENTION:
        total += mlp_weights_per_rank(spec.model, spec.tp_degree)
    if spec.block is not Block.MLP:
        total += attention_weights_per_rank(spec.model, spec.tp_degree)
    return total


def mlp_weights_per_rank(shape: ModelShape, tp_degree: int) -> int:
    """H*F/P elements for each of the two matrices, or three where the MLP is gated."""
    return (3 if shape.gated else 2) * shape.hidden_size * shape.intermediate_size // tp_degree


def attention_weights_per_rank(shape: ModelShape, tp_degree: int) -> int:
    """Q and output by heads; K and V by key-value heads, at least one on each rank."""
    heads = shape.num_attention_heads // tp_degree
    kv_heads = max(1, shape.num_key_value_heads // tp_degree)
    return 2 * (heads + kv_heads) * shape.head_dim * shape.hidden_size
