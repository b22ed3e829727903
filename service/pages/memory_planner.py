"""What one GPU of a model has to hold, by arithmetic."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from service.analysis.memory_plan.question import Recomputation
from service.errors import ServiceError
from service.pages import figures, forms
from service.pages.charts.bars import Bar, stacked_bars
from service.pages.numbers import whole_numbers, words
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import memory as reports
from service.reports.memory import MemoryReport, MemoryRequest, PlanReport
from workers.contract.axes import Phase
from workers.contract.presets import PRESETS

router = APIRouter(route_class=PageRoute)

PARTS: Final = ("weights", "gradients", "optimizer", "activations", "cache", "passing")
MOST_BARS: Final = 40


class Form(BaseModel):
    """What is asked; an empty model asks nothing yet."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(default="", max_length=200)
    tp_degree: str = Field(default="1 2 4 8", max_length=200)
    zero_stage: str = Field(default="0", max_length=20)
    data_parallel: str = Field(default="1", max_length=200)
    phase: Phase = Phase.TRAIN
    batch: str = Field(default="1", max_length=20)
    seq: str = Field(default="2048", max_length=20)
    recomputation: Recomputation = Recomputation.NONE
    sequence_parallel: bool = False
    device_memory_gb: str = Field(default="80", max_length=20)

    def asked(self) -> MemoryRequest:
        """The request that the form means. InvalidRequestError names what is wrong in it."""
        return forms.parse(
            MemoryRequest,
            {
                "model": self.model,
                "tp_degree": whole_numbers("tp_degree", self.tp_degree),
                "zero_stage": [int(one) if one.isdecimal() else one for one in self._stages],
                "data_parallel": whole_numbers("data_parallel", self.data_parallel),
                "phase": self.phase,
                "batch": whole_numbers("batch", self.batch, most=1)[0],
                "seq": whole_numbers("seq", self.seq, most=1)[0],
                "recomputation": self.recomputation,
                "sequence_parallel": self.sequence_parallel,
                "device_memory_gb": self._gigabytes,
            },
        )

    @property
    def _stages(self) -> list[str]:
        return words(self.zero_stage)

    @property
    def _gigabytes(self) -> float | str | None:
        """Text that is no number is left for the request to refuse, with its name."""
        try:
            return float(self.device_memory_gb) if self.device_memory_gb else None
        except ValueError:
            return self.device_memory_gb


@router.get("/memory")
def memory_page(request: Request, visitor: Reader, form: Annotated[Form, Query()]) -> Response:
    """The form, and below it the plans."""
    del visitor
    found, error = None, None
    try:
        found = reports.report(form.asked()) if form.model else None
    except ServiceError as refused:
        error = refused
    return page(
        request,
        "memory.html",
        status=200 if error is None else error.status,
        form=form,
        found=found,
        chart=None if found is None else chart(found),
        error=error,
        presets=list(PRESETS),
        phases=list(Phase),
        recomputations=list(Recomputation),
    )


def chart(report: MemoryReport) -> Markup:
    """What fills the memory, plan by plan."""
    bars = [Bar(_name(one), _parts(one), _gb(one)) for one in report.plans[:MOST_BARS]]
    said = "; ".join(f"{bar.name}: {bar.whole}" for bar in bars)
    return stacked_bars(PARTS, bars, label=f"Parts of one GPU's memory. {said}")


def _name(plan: PlanReport) -> str:
    return f"{plan.tp_degree} · {plan.zero_stage} · {plan.data_parallel}"


def _parts(plan: PlanReport) -> tuple[float, ...]:
    parts = (
        plan.weights_bytes,
        plan.gradients_bytes,
        plan.optimizer_bytes,
        plan.activations_bytes,
        plan.kv_cache_bytes,
        plan.passing_bytes,
    )
    return tuple(part / plan.total_bytes for part in parts)


def _gb(plan: PlanReport) -> str:
    return figures.number(plan.total_bytes / 1e9, "GB")
