"""What one GPU has to hold, for each way of cutting and replicating a model."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, Strict, StrictBool, StrictInt

from service.analysis.memory_plan.plan import MemoryPlan, plan
from service.analysis.memory_plan.precision import Precision
from service.analysis.memory_plan.question import (
    MemoryQuestion,
    Recomputation,
    Replicas,
    judge,
)
from service.errors import FieldError, InvalidRequestError, QuotaError
from workers.contract.axes import Phase
from workers.contract.catalogue import AnyWholeModel
from workers.contract.frozen import Frozen
from workers.contract.one_or_many import Axis
from workers.contract.sweep import Degree, Extent
from workers.contract.whole_model import WholeModel

MOST_PLANS = 1000


class MemoryRequest(Frozen):
    """Ways to cut one model; the first three axes may each be a list."""

    model: AnyWholeModel
    tp_degree: Axis[Degree]
    zero_stage: Axis[StrictInt] = (0,)
    data_parallel: Axis[Replicas] = (1,)
    phase: Phase = Phase.TRAIN
    precision: Precision | None = Field(
        default=None, description="bfloat16_mixed in training, bfloat16 else."
    )
    recomputation: Recomputation = Recomputation.NONE
    sequence_parallel: StrictBool = False
    dropout: StrictBool = False
    batch: Extent = Field(
        default=1, description="Sequences a GPU works on at a time: the micro-batch in training."
    )
    seq: Extent = Field(default=2048, description="Tokens of one; in decode the cached ones.")
    device_memory_gb: Annotated[float, Strict(), Field(gt=0, le=1e6)] | None = Field(
        default=None, description="Of one GPU, GB = 1e9 bytes; with it plans say whether they fit."
    )

    def questions(self) -> Iterator[MemoryQuestion]:
        """One for each combination. InvalidRequestError names the value that cannot be."""
        usual = Precision.BFLOAT16_MIXED if self.phase.has_backward else Precision.BFLOAT16
        for degree, stage, replicas in itertools.product(
            self.tp_degree, self.zero_stage, self.data_parallel
        ):
            yield MemoryQuestion(
                model=self.model,
                phase=self.phase,
                precision=self.precision or usual,
                tp_degree=degree,
                zero_stage=stage,
                data_parallel=replicas,
                recomputation=self.recomputation,
                sequence_parallel=self.sequence_parallel,
                dropout=self.dropout,
                batch=self.batch,
                seq=self.seq,
            )


class PlanReport(MemoryPlan):
    """One combination."""

    tp_degree: int
    zero_stage: int
    data_parallel: int
    fits: bool | None = Field(description="Null where no device_memory_gb was given.")

    @classmethod
    def of(cls, question: MemoryQuestion, *, device_memory_gb: float | None) -> Self:
        """Plan it. InvalidRequestError where it cannot be cut like this."""
        if obstacle := judge(question):
            error = FieldError(pointer=f"/{obstacle.field}", detail=obstacle.reason)
            raise InvalidRequestError(obstacle.reason, errors=(error,))
        found = plan(question)
        return cls(
            **dict(found),
            tp_degree=question.tp_degree,
            zero_stage=question.zero_stage,
            data_parallel=question.data_parallel,
            fits=None if device_memory_gb is None else found.total_bytes <= device_memory_gb * 1e9,
        )


class MemoryReport(Frozen):
    """Plans in the order asked; bytes of one GPU, an estimate that no allocator has rounded up."""

    model: WholeModel
    num_parameters: int
    phase: Phase
    precision: Precision
    plans: tuple[PlanReport, ...]


def report(request: MemoryRequest) -> MemoryReport:
    """Plan every combination of the request."""
    num_plans = len(request.tp_degree) * len(request.zero_stage) * len(request.data_parallel)
    if num_plans > MOST_PLANS:
        raise QuotaError(
            f"{num_plans} combinations were asked for; {MOST_PLANS} are planned at most"
        )
    questions = list(request.questions())
    return MemoryReport(
        model=request.model,
        num_parameters=request.model.num_parameters,
        phase=request.phase,
        precision=questions[0].precision,
        plans=tuple(
            PlanReport.of(one, device_memory_gb=request.device_memory_gb) for one in questions
        ),
    )
