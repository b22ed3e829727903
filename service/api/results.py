"""Results: what points showed, over their trials."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.paging import Page, PageParameters
from service.api.parameters import Moment, Several, Tag
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import results as reports
from service.reports.result import ResultReport
from service.store.result_filter import ResultFilter
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.point import LARGEST_EXTENT, LARGEST_TP_DEGREE

router = APIRouter(prefix="/v1/results", tags=["results"], route_class=ApiRoute)

MOST_VALUES = 100

Texts = Annotated[tuple[str, ...], Field(max_length=MOST_VALUES)]
Extent = Annotated[int, Field(ge=1, le=LARGEST_EXTENT)]
Degree = Annotated[int, Field(ge=1, le=LARGEST_TP_DEGREE)]
Extents = Annotated[tuple[Extent, ...], Several, Field(max_length=MOST_VALUES)]


class ResultParameters(PageParameters):
    """Which results; several values of one parameter, repeated or with commas, mean any of them."""

    sweep: Texts = ()
    model: Texts = Field(default=(), description="Names of models.")
    block: Annotated[tuple[Block, ...], Several] = ()
    phase: Annotated[tuple[Phase, ...], Several] = ()
    arrangement: Annotated[tuple[Arrangement, ...], Several] = ()
    tp_degree: Annotated[tuple[Degree, ...], Several, Field(max_length=MOST_VALUES)] = ()
    batch: Extents = ()
    seq: Extents = ()
    dtype: Annotated[tuple[Dtype, ...], Several] = ()
    collective_impl: Annotated[tuple[CollectiveImpl, ...], Several] = ()
    overlap: Annotated[tuple[Overlap, ...], Several] = ()
    launch: Annotated[tuple[Launch, ...], Several] = ()
    spec_key: Texts = ()
    hardware: Texts = Field(default=(), description="hardware_key, or the accelerator's name.")
    node: Texts = ()
    tag: Tag | None = Field(default=None, description="Of the sweep, `key=value`.")
    since: Moment | None = Field(default=None, description="Measured then or later.")
    until: Moment | None = Field(default=None, description="Measured before then.")

    def as_filter(self) -> ResultFilter:
        """The same in the store's words."""
        return replace(
            ResultFilter.on(*self.hardware),
            sweep_ids=self.sweep,
            models=self.model,
            blocks=self.block,
            phases=self.phase,
            arrangements=self.arrangement,
            tp_degrees=self.tp_degree,
            batches=self.batch,
            seqs=self.seq,
            dtypes=self.dtype,
            collective_impls=self.collective_impl,
            overlaps=self.overlap,
            launches=self.launch,
            spec_keys=self.spec_key,
            nodes=self.node,
            tag=self.tag,
            since=self.since,
            until=self.until,
        )


class Include(StrEnum):
    """What is left out unless asked for."""

    SAMPLES = "samples"


class ResultDetail(BaseModel):
    """How much of a result."""

    model_config = ConfigDict(extra="forbid")

    include: Annotated[tuple[Include, ...], Several] = Field(
        default=(), description="`samples`: every timed step."
    )


@router.get("")
def list_results(
    which: Annotated[ResultParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[ResultReport]:
    """Results, newest sweep first, each in the order of its grid."""
    del caller
    with service.sessions.reading() as session:
        found = reports.page(session, which.as_filter(), limit=which.limit, cursor=which.cursor)
    return Page(items=list(found.items), next_cursor=found.next_cursor)


@router.get("/{result_id}")
def get_result(
    result_id: str, detail: Annotated[ResultDetail, Query()], service: ServiceDep, caller: Reader
) -> ResultReport:
    """One result with its trials."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, result_id, include_samples=Include.SAMPLES in detail.include)
