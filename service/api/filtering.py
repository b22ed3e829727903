"""Which results are meant, as query parameters."""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from service.api.parameters import Several, Tags, Versions
from service.store.moments import Moment
from service.store.result_filter import ResultFilter
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.point import LARGEST_EXTENT, LARGEST_TP_DEGREE

MOST_VALUES = 100

Names = Annotated[tuple[str, ...], Field(max_length=MOST_VALUES)]
"""Repeated only: a name may have a comma."""
Keys = Annotated[tuple[str, ...], Several, Field(max_length=MOST_VALUES)]
Extent = Annotated[int, Field(ge=1, le=LARGEST_EXTENT)]
Degree = Annotated[int, Field(ge=1, le=LARGEST_TP_DEGREE)]
Extents = Annotated[tuple[Extent, ...], Several, Field(max_length=MOST_VALUES)]


class FilterParameters(BaseModel):
    """Which results; several values of one parameter mean any of them.

    They are repeated, or stand with commas where they are no names.
    """

    model_config = ConfigDict(extra="forbid")

    sweep: Keys = ()
    model: Names = Field(default=(), description="Names of models.")
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
    spec_key: Keys = ()
    hardware: Names = Field(default=(), description="hardware_key, or the accelerator's name.")
    node: Names = ()
    tag: Tags = Field(default=(), description="Of the sweep, `key=value`; several: all of them.")
    version: Versions = Field(
        default=(), description="What ran, as `nccl=2.27.3`; several: all of them."
    )
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
            tags=self.tag,
            versions=self.version,
            since=self.since,
            until=self.until,
        )
