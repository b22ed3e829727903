"""Whether the unsharded twin fits, and the smaller shape that stands in where it does not."""

from workers.contract.point import PointSpec
from workers.contract.workload import weights_per_rank

LARGEST_NUM_HALVINGS = 20
"""After so many, every width of the largest shape that a spec allows is one."""

SLACK = 1.2
"""For activations of the few tokens, products' work space and the allocator's rounding."""


def halvings_needed(spec: PointSpec, *, memory_bytes: int, reference_bytes: int) -> int:
    """Return how often all widths are halved until the proof of `spec` fits `memory_bytes`.

    `reference_bytes` is the size of one element of the twin.
    """
    for num_halvings in range(LARGEST_NUM_HALVINGS):
        needed = proof_bytes(halve(spec, num_halvings), reference_bytes=reference_bytes)
        if needed <= memory_bytes:
            return num_halvings
    return LARGEST_NUM_HALVINGS


def proof_bytes(spec: PointSpec, *, reference_bytes: int) -> int:
    """Memory of one rank's proof: the twin, this rank's part, in training the gradient of each.

    The part is there three times: as it was before the step, and once more in the point's dtype.
    """
    whole = spec.num_layers * weights_per_rank(spec.model_copy(update={"tp_degree": 1}))
    part = weights_per_rank(spec)
    copies = 2 if spec.phase.has_backward else 1
    per_copy = (whole + part) * reference_bytes + part * spec.dtype.num_bytes
    return int((copies * per_copy + part * reference_bytes) * SLACK)


def halve(spec: PointSpec, num_halvings: int) -> PointSpec:
    """Halve hidden, intermediate and head_dim together; the head counts stay.

    So every ratio that decides the cut stays: query to key-value heads to ranks, heads*head_dim and
    intermediate to hidden. Exact where 2**num_halvings divides the widths, else rounded to what
    tp_degree still divides.
    """
    if num_halvings == 0:
        return spec
    divisor, shape, layout = 1 << num_halvings, spec.model, spec.layout
    hidden_parts = spec.tp_degree if layout.cuts_hidden else 1
    inner_parts = spec.tp_degree if layout.cuts_inner else 1
    widths = {
        "hidden_size": _divide(shape.hidden_size // hidden_parts, divisor) * hidden_parts,
        "intermediate_size": _divide(shape.intermediate_size // inner_parts, divisor) * inner_parts,
        "head_dim": _divide(shape.head_dim, divisor),
    }
    return spec.model_copy(update={"model": shape.model_copy(update=widths)})


def _divide(width: int, divisor: int) -> int:
    return max(1, round(width / divisor))
