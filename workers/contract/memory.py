"""An upper estimate of what a point takes on one device, so that hopeless ones are never queued."""

from workers.contract.activations import kept_activations, largest_passing
from workers.contract.point import PointSpec
from workers.contract.workload import cached_per_rank, weights_per_rank


def estimated_bytes(spec: PointSpec) -> int:
    """Bytes of weights, gradients, activations and cached keys and values of one rank.

    With a tenth for the allocator. What passes is there twice: sent and received, or laid out anew.
    """
    copies = 2 if spec.phase.has_backward else 1
    activations = kept_activations(spec) + 2 * largest_passing(spec)
    elements = copies * (weights_per_rank(spec) + activations) + cached_per_rank(spec)
    return int(elements * spec.dtype.num_bytes * 1.1)
