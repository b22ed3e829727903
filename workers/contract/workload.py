"""What a step has to do, by arithmetic: multiply-adds, bytes and collectives of one rank.

Legend: B batch, S sequence, H hidden, F intermediate, A heads, D head_dim, P tp_degree.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from workers.contract.axes import Block, Collective, Overlap, Phase
from workers.contract.frozen import Frozen
from workers.contract.layouts import Hop, Width
from workers.contract.point import PointSpec
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Measurable
from workers.contract.shapes import ModelShape


class Message(Frozen):
    """One collective of a step: where it runs and the bytes of its total array."""

    op: Collective
    where: str
    message_bytes: int
    is_overlapped: bool = False
    """Whether compute goes on while it runs, so that no time around the call means anything."""
    ranks: tuple[int, ...] = ()
    """Those that take part; all of them where empty."""


def expected_messages(spec: Measurable) -> tuple[Message, ...]:
    """Collectives of one step in the order they run: see `workers.contract.layouts`.

    In training, backward passes the blocks in reverse. One rank alone sends nothing. Halves of a
    batch are sent one by one.
    """
    match spec:
        case PointSpec():
            return _messages_of_blocks(spec)
        case CollectiveProbe():
            return (Message(op=spec.op, where="alone", message_bytes=spec.message_bytes),)
        case GemmProbe() | CopyProbe():
            return ()
        case _:
            assert_never(spec)


def _messages_of_blocks(spec: PointSpec) -> tuple[Message, ...]:
    if spec.tp_degree == 1:
        return ()
    if spec.layout.splits_layers:
        return _between_layers(spec)
    blocks = [Block.ATTENTION, Block.MLP] if spec.block is Block.LAYER else [spec.block]
    messages = [
        _message(spec, block, hop)
        for block in blocks
        for hop in _hops(spec, block, spec.layout.forward)
    ]
    if spec.phase.has_backward:
        messages += [
            _message(spec, block, hop)
            for block in reversed(blocks)
            for hop in _hops(spec, block, spec.layout.backward)
        ]
    return tuple(messages)


def messages_of_rank(spec: Measurable, rank: int) -> tuple[Message, ...]:
    """Those of them in which one rank takes part."""
    return tuple(m for m in expected_messages(spec) if not m.ranks or rank in m.ranks)


def _between_layers(spec: PointSpec) -> tuple[Message, ...]:
    """From each layer to the next, and in training the gradients back again."""
    num_bytes = spec.num_tokens * spec.model.hidden_size * spec.dtype.num_bytes
    hops = [(stage, "forward") for stage in range(spec.num_layers - 1)]
    if spec.phase.has_backward:
        hops += [(stage, "backward") for stage in reversed(range(spec.num_layers - 1))]
    return tuple(
        Message(
            op=Collective.SEND_RECV,
            where=f"{spec.block}.{stage}.{direction}",
            message_bytes=num_bytes,
            ranks=(stage, stage + 1),
        )
        for stage, direction in hops
    )


def _hops(spec: PointSpec, block: Block, hops: Sequence[Hop]) -> Iterator[Hop]:
    num_first = 2 if block is Block.MLP and spec.model.gated else 1
    num_chunks = _num_chunks(spec)
    for hop in hops:
        yield from [hop] * (num_chunks * (num_first if hop.is_for_each_first else 1))


def _num_chunks(spec: PointSpec) -> int:
    return 2 if spec.overlap is Overlap.CHUNKED else 1


def _is_overlapped(spec: PointSpec, hop: Hop) -> bool:
    match spec.overlap:
        case Overlap.NONE:
            return False
        case Overlap.BACKWARD:
            return hop.has_product_beside
        case Overlap.CHUNKED:
            return True
        case _:
            assert_never(spec.overlap)


def _message(spec: PointSpec, block: Block, hop: Hop) -> Message:
    """Say how large the total array is: what a gather gives, what a reduce-scatter takes."""
    width = spec.model.hidden_size
    if hop.width is Width.INNER:
        width = inner_width(spec.model, block)
    return Message(
        op=hop.op,
        where=f"{block}.{hop.place}",
        message_bytes=spec.num_tokens * width * spec.dtype.num_bytes // _num_chunks(spec),
        is_overlapped=_is_overlapped(spec, hop),
    )


def inner_width(shape: ModelShape, block: Block) -> int:
    """Width between the two matrices, all ranks together."""
    if block is Block.MLP:
        return shape.intermediate_size
    return shape.num_attention_heads * shape.head_dim


def flops_per_rank(spec: PointSpec) -> int:
    """Floating-point operations of one step on one rank, matrix products only.

    2 for each multiply-add; backward is twice forward (one product for the input's gradient, one
    for the weight's). Causal attention counts half of the S*S scores; in decode one token meets S
    cached ones and itself.
    """
    forward = 0
    if spec.block is not Block.ATTENTION:
        forward += 2 * spec.num_tokens * mlp_weights_per_rank(spec.model, spec.num_shards)
    if spec.block is not Block.MLP:
        forward += 2 * spec.num_tokens * attention_weights_per_rank(spec.model, spec.num_shards)
        width = spec.model.num_attention_heads // spec.num_shards * spec.model.head_dim
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
    return spec.batch * (spec.seq + 1) * cached_per_token(spec.model, spec.num_shards)


def cached_per_token(shape: ModelShape, num_shards: int) -> int:
    """Elements of the key and the value of one token in one layer on one rank."""
    _, kv_heads = heads_per_rank(shape, num_shards)
    return 2 * kv_heads * shape.head_dim


def weights_per_rank(spec: PointSpec) -> int:
    """Elements of the weight matrices that one rank holds."""
    total = 0
    if spec.block is not Block.ATTENTION:
        total += mlp_weights_per_rank(spec.model, spec.num_shards)
    if spec.block is not Block.MLP:
        total += attention_weights_per_rank(spec.model, spec.num_shards)
    return total


def heads_per_rank(shape: ModelShape, num_shards: int) -> tuple[int, int]:
    """Return query and key-value heads of one rank; the latter at least one, replicated."""
    return shape.num_attention_heads // num_shards, max(1, shape.num_key_value_heads // num_shards)


def mlp_weights_per_rank(shape: ModelShape, num_shards: int) -> int:
    """H*F/num_shards elements for each of the two matrices, or three where the MLP is gated."""
    return (3 if shape.gated else 2) * shape.hidden_size * shape.intermediate_size // num_shards


def attention_weights_per_rank(shape: ModelShape, num_shards: int) -> int:
    """Q and output by heads; K and V by key-value heads, at least one on each rank."""
    heads, kv_heads = heads_per_rank(shape, num_shards)
    return 2 * (heads + kv_heads) * shape.head_dim * shape.hidden_size
