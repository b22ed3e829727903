"""An upper estimate of what a point takes on one device, so that hopeless ones are never queued."""

from workers.contract.axes import Block
from workers.contract.point import PointSpec
from workers.contract.workload import cached_per_rank, weights_per_rank


def estimated_bytes(spec: PointSpec) -> int:
    """Bytes of weights, gradients, activations and cached keys and values of one rank.

    With a tenth for the allocator.
    """
    copies = 2 if spec.phase.has_backward else 1
    elements = copies * (weights_per_rank(spec) + _activation_elements(spec))
    elements += cached_per_rank(spec)
    return int(elements * spec.dtype.num_bytes * 1.1)


def _activation_elements(spec: PointSpec) -> int:
    """Input, output and every intermediate that backward keeps; scores are never materialised."""
    shape, tokens = spec.model, spec.num_tokens
    per_token = 3 * shape.hidden_size
    if spec.block is not Block.ATTENTION:
        per_token += (4 if shape.gated else 2) * shape.intermediate_size // spec.tp_degree
    if spec.block is not Block.MLP:
        heads = shape.num_attention_heads // spec.tp_degree
        kv_heads = max(1, shape.num_key_value_heads // spec.tp_degree)
        per_token += (2 * heads + 2 * kv_heads) * shape.head_dim
    return tokens * per_token
