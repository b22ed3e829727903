from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from service.analysis.memory_plan.precision import TRAINABLE, Precision
from service.analysis.memory_plan.states import LARGEST_ZERO_STAGE
from workers.contract.axes import Block, Phase
from workers.contract.catalogue import AnyWholeModel
from workers.contract.frozen import Frozen
from workers.contract.shapes import ModelShape
from workers.contract.sharding import Obstacle, find_obstacle, valid_tp_degrees
from workers.contract.sweep import Degree, Extent

LARGEST_DATA_PARALLEL = 1 << 16

Replicas = Annotated[StrictInt, Field(ge=1, le=LARGEST_DATA_PARALLEL)]


class Recomputation(StrEnum):
    """Which activations backward computes again in place of finding them."""

    NONE = "none"
    SELECTIVE = "selective"
    """Attention's scores alone; the same as never writing them, as FlashAttention does."""
    FULL = "full"
    """All but each layer's input."""


class MemoryQuestion(Frozen):
    """What one GPU of a model, cut and replicated like this, has to hold."""

    model: AnyWholeModel
    phase: Phase = Phase.TRAIN
    precision: Precision
    tp_degree: Degree
    zero_stage: StrictInt = 0
    data_parallel: Replicas = 1
    recomputation: Recomputation = Recomputation.NONE
    sequence_parallel: StrictBool = False
    dropout: StrictBool = False
    batch: Extent
    seq: Extent

    @property
    def num_tokens(self) -> int:
        """Of one step: in decode one for each sequence."""
        return self.batch * (1 if self.phase is Phase.DECODE else self.seq)


def degrees_of(shape: ModelShape) -> tuple[int, ...]:
    """All degrees that both blocks of a layer can be cut into."""
    by_mlp = valid_tp_degrees(shape, Block.MLP)
    return tuple(d for d in valid_tp_degrees(shape, Block.ATTENTION) if d in by_mlp)


def judge(question: MemoryQuestion) -> Obstacle | None:
    """Return why there is no such plan, or None where there is one."""
    return _degree_obstacle(question) or _zero_obstacle(question) or _training_obstacle(question)


def _degree_obstacle(question: MemoryQuestion) -> Obstacle | None:
    shape, degree = question.model.layer, question.tp_degree
    found = find_obstacle(shape, Block.ATTENTION, tp_degree=degree) or find_obstacle(
        shape, Block.MLP, tp_degree=degree
    )
    if found is not None:
        works = ", ".join(map(str, degrees_of(shape)))
        return Obstacle(
            field="tp_degree", value=degree, reason=f"{found.reason}; these work: {works}"
        )
    if question.sequence_parallel and question.num_tokens % degree:
        reason = (
            f"sequence_parallel cannot deal the {question.num_tokens} tokens of a step evenly to "
            f"tp_degree={degree} ranks"
        )
        return Obstacle(field="sequence_parallel", value=degree, reason=reason)
    return None


def _zero_obstacle(question: MemoryQuestion) -> Obstacle | None:
    stage = question.zero_stage
    if not 0 <= stage <= LARGEST_ZERO_STAGE:
        reason = f"zero_stage={stage} is none of 0, 1, 2, 3"
    elif stage and not question.phase.has_backward:
        reason = (
            f"zero_stage={stage} divides what training holds; with phase={question.phase} only 0 "
            "works"
        )
    else:
        return None
    return Obstacle(field="zero_stage", value=stage, reason=reason)


def _training_obstacle(question: MemoryQuestion) -> Obstacle | None:
    precision, is_training = question.precision, question.phase.has_backward
    if is_training and precision not in TRAINABLE:
        reason = f"precision={precision} has no gradients; phase=train works with "
        return Obstacle(field="precision", value=precision, reason=reason + ", ".join(TRAINABLE))
    if not is_training and question.recomputation is not Recomputation.NONE:
        reason = f"phase={question.phase} has no backward to compute anything again in"
        return Obstacle(field="recomputation", value=question.recomputation, reason=reason)
    return None
