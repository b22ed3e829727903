"""A result as one row of a table."""

import json
from datetime import datetime
from typing import Self

from service.store.records import ResultRecord
from workers.contract.frozen import Frozen


class FlatResult(Frozen):
    """What one trial measured of a point; the columns of CSV and Parquet, in this order."""

    sweep_id: str
    sweep_name: str
    tags: str
    """As JSON."""
    point_id: str
    trial_id: str
    replicate: int
    created_at: datetime
    model: str
    block: str
    arrangement: str
    phase: str
    tp_degree: int
    batch: int
    seq: int
    dtype: str
    collective_impl: str
    overlap: str
    launch: str
    spec_key: str
    hardware_key: str
    accelerator: str
    link_class: str
    node: str
    group_kind: str
    torch: str
    cuda: str | None
    nccl: str | None
    driver: str | None
    step_time_us: float
    p10_us: float
    p90_us: float
    min_us: float
    num_steps: int
    forward_time_us: float
    backward_time_us: float
    compute_time_us: float
    communication_time_us: float | None
    exposed_communication_us: float
    communication_share: float
    peak_memory_bytes: int
    max_rel_error: float
    quality: str
    """Flags, apart by spaces."""
    step_ns: tuple[int, ...] | None
    """Every timed step, slowest rank; None where samples were left out."""

    @classmethod
    def of(cls, record: ResultRecord) -> Self:
        """Take from a record what a row holds."""
        spec, summary, seen = record.point.spec, record.summary, record.environment
        steps = record.slowest_ns
        axes = ("block", "arrangement", "phase", "tp_degree", "batch", "seq", "dtype")
        others = ("collective_impl", "overlap", "launch")
        return cls(
            **{name: getattr(spec, name) for name in (*axes, *others)},
            **{name: getattr(summary, name) for name in _OF_SUMMARY},
            **{name: getattr(record, name) for name in _OF_RECORD},
            sweep_id=record.sweep.id,
            sweep_name=record.sweep.spec.name,
            tags=json.dumps(record.sweep.spec.tags, sort_keys=True)
            if record.sweep.spec.tags
            else "",
            trial_id=record.trial.id,
            replicate=record.trial.replicate,
            model=spec.model.name,
            accelerator=record.hardware.accelerator,
            torch=seen.torch,
            cuda=seen.cuda,
            nccl=seen.nccl,
            driver=seen.driver,
            max_rel_error=record.proof.max_rel_error,
            quality=" ".join(record.quality),
            step_ns=None if steps is None else tuple(steps),
        )


_OF_RECORD = (
    "point_id",
    "created_at",
    "spec_key",
    "hardware_key",
    "link_class",
    "node",
    "group_kind",
    "peak_memory_bytes",
)
_OF_SUMMARY = (
    "step_time_us",
    "p10_us",
    "p90_us",
    "min_us",
    "num_steps",
    "forward_time_us",
    "backward_time_us",
    "compute_time_us",
    "communication_time_us",
    "exposed_communication_us",
    "communication_share",
)
