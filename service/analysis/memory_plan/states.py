"""Weights, gradients and optimizer under ZeRO: arXiv:1910.02054 section 5.

Stage 1 divides the optimizer's states among the data-parallel replicas, stage 2 gradients too, and
stage 3 weights as well. Each replica is already cut tp_degree times.
"""

from dataclasses import dataclass
from math import ceil

from service.analysis.memory_plan.precision import Widths

LARGEST_ZERO_STAGE = 3


@dataclass(frozen=True, slots=True)
class ModelStates:
    """Bytes of one GPU."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All three."""
        return self.weights + self.gradients + self.optimizer


def model_states(
    parameters_per_rank: float, widths: Widths, *, zero_stage: int, data_parallel: int
) -> ModelStates:
    """Divide what one TP rank would hold; in inference gradients and optimizer take nothing."""

    def share(width: float, first_stage: int) -> int:
        owners = data_parallel if zero_stage >= first_stage else 1
        return ceil(parameters_per_rank * width / owners)

    return ModelStates(
        weights=share(widths.weight, 3),
        gradients=share(widths.gradient, 2),
        optimizer=share(widths.optimizer, 1),
    )
