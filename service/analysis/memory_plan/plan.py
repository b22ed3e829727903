"""Per-GPU memory of a whole model, by arithmetic."""

from service.analysis.memory_plan.activations import (
    cached_bytes,
    kept_bytes,
    kept_of_layer,
    passing_bytes,
)
from service.analysis.memory_plan.precision import WIDTHS
from service.analysis.memory_plan.question import MemoryQuestion, Recomputation
from service.analysis.memory_plan.states import model_states
from workers.contract.frozen import Frozen


class MemoryPlan(Frozen):
    """Bytes that one GPU holds. Nothing is added for the allocator, the framework or the driver."""

    parameters_per_rank: int
    """Before ZeRO divides them."""
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    kv_cache_bytes: int
    passing_bytes: int
    """Held for a moment: one layer that is computed again, or gathered in ZeRO's stage 3; the
    activations of inference."""
    total_bytes: int


def plan(question: MemoryQuestion) -> MemoryPlan:
    """Plan a question that `judge` has nothing against."""
    model, widths = question.model, WIDTHS[question.precision]
    parameters = model.parameters_per_rank(tp_degree=question.tp_degree)
    is_training = question.phase.has_backward
    states = model_states(
        parameters,
        widths if is_training else widths.of_inference,
        zero_stage=question.zero_stage,
        data_parallel=question.data_parallel,
    )
    activations = kept_bytes(question) if is_training else 0
    cached = cached_bytes(question)
    passing = _passing(question) if is_training else passing_bytes(question)
    return MemoryPlan(
        parameters_per_rank=parameters,
        weights_bytes=states.weights,
        gradients_bytes=states.gradients,
        optimizer_bytes=states.optimizer,
        activations_bytes=activations,
        kv_cache_bytes=cached,
        passing_bytes=passing,
        total_bytes=states.total + activations + cached + passing,
    )


def _passing(question: MemoryQuestion) -> int:
    found = 0
    if question.recomputation is Recomputation.FULL:
        found += kept_of_layer(question, Recomputation.SELECTIVE)
    if question.zero_stage >= 3 and question.data_parallel > 1:  # noqa: PLR2004 - ZeRO's number
        layer = question.model.layer_per_rank(tp_degree=question.tp_degree)
        found += round(layer * WIDTHS[question.precision].weight)
    return found
