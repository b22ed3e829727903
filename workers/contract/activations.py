"""What of a block's activations one rank holds, by arithmetic: where arrangements differ most.

Legend: T tokens of a step, t those that a rank is given, H hidden, F inner width of the MLP, P
tp_degree; of one rank: A query heads, K key-value heads, D head_dim.
"""

from typing import assert_never

from workers.contract.axes import Activation, Block, Overlap
from workers.contract.layouts import Cut
from workers.contract.point import PointSpec
from workers.contract.workload import heads_per_rank, inner_width


def kept_activations(spec: PointSpec) -> int:
    """Elements that one rank holds between forward and backward of a training step.

    Input, what backward will read, output; neither weights nor what forward drops again. Counted as
    `workers.tp` runs in eager torch: an activation keeps its input, ReLU its output; attention no
    scores, but one number for each query and head; a norm two for each token.
    """
    tokens, width = _own_tokens(spec), spec.model.hidden_size
    match spec.block:
        case Block.MLP:
            return 2 * tokens * width + _operand(spec) + _inside_mlp(spec)
        case Block.ATTENTION:
            return 2 * tokens * width + _operand(spec) + _inside_attention(spec)
        case Block.LAYER:
            inside = 2 * _operand(spec) + _inside_attention(spec) + _inside_mlp(spec)
            is_norm_dropped = spec.layout.keeps_gathered_input and spec.tp_degree > 1
            num_wide = 3 if is_norm_dropped else 5  # input, sum, output; what either norm gives
            return num_wide * tokens * width + 4 * tokens + inside
        case _:
            assert_never(spec.block)


def largest_passing(spec: PointSpec) -> int:
    """Elements of the largest tensor that stands whole on a rank only while it is sent or read.

    A gathered one that backward does not find again, a partial sum that is scattered, or two halves
    that are put together.
    """
    if spec.tp_degree == 1:
        return 0
    if spec.layout.has_token_shards or spec.overlap is Overlap.CHUNKED:
        return spec.num_tokens * spec.model.hidden_size
    if not (_gathers_inner(spec) or (spec.layout.first is Cut.ROW and spec.layout.is_inner_cut)):
        return 0
    blocks = (Block.ATTENTION, Block.MLP) if spec.block is Block.LAYER else (spec.block,)
    return spec.num_tokens * max(inner_width(spec.model, block) for block in blocks)


def _own_tokens(spec: PointSpec) -> int:
    batch, seq, _ = spec.input_shape
    return batch * seq


def _operand(spec: PointSpec) -> int:
    """What the first product keeps of its input where that is not the block's input itself."""
    if spec.tp_degree == 1:
        return 0
    whole = spec.num_tokens * spec.model.hidden_size
    if spec.layout.keeps_gathered_input:
        return whole
    return whole // spec.tp_degree if spec.layout.first is Cut.ROW else 0


def _inside_mlp(spec: PointSpec) -> int:
    """From the first product to what the second one reads."""
    model = spec.model
    whole = spec.num_tokens * model.intermediate_size
    own = whole // spec.tp_degree if spec.layout.is_inner_cut else whole
    kept = _kept_by(model.activation, gated=model.gated) * own
    if _gathers_inner(spec):
        return kept + whole
    is_kept_already = model.activation is Activation.RELU and not model.gated
    return kept if is_kept_already else kept + own


def _kept_by(activation: Activation, *, gated: bool) -> int:
    """Tensors of the inner width kept by the activation and, where gated, by the product with up.

    Gated: gate (but for ReLU, which reads its own output), activated gate and up.
    """
    if not gated:
        return 1
    return 2 if activation is Activation.RELU else 3


def _inside_attention(spec: PointSpec) -> int:
    model = spec.model
    heads, kv_heads = heads_per_rank(model, spec.num_shards)
    kept = spec.num_tokens * (2 * (heads + kv_heads) * model.head_dim + heads)
    if _gathers_inner(spec):
        kept += spec.num_tokens * inner_width(model, Block.ATTENTION)
    return kept


def _gathers_inner(spec: PointSpec) -> bool:
    layout = spec.layout
    return spec.tp_degree > 1 and layout.is_inner_cut and layout.second is Cut.COLUMN
