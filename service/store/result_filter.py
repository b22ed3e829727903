"""Which results are meant, and the same as SQL that takes the values as parameters."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, Self

from sqlalchemy import ColumnElement, bindparam, select
from sqlalchemy.orm import InstrumentedAttribute

from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepTagRow
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which results; an empty tuple or None lets everything pass."""

    sweep_ids: tuple[str, ...] = ()
    point_ids: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Names."""
    blocks: tuple[Block, ...] = ()
    phases: tuple[Phase, ...] = ()
    arrangements: tuple[Arrangement, ...] = ()
    tp_degrees: tuple[int, ...] = ()
    batches: tuple[int, ...] = ()
    seqs: tuple[int, ...] = ()
    dtypes: tuple[Dtype, ...] = ()
    collective_impls: tuple[CollectiveImpl, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    launches: tuple[Launch, ...] = ()
    spec_keys: tuple[str, ...] = ()
    hardware_keys: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    """Names as the hardware has them."""
    nodes: tuple[str, ...] = ()
    tag: tuple[str, str] | None = None
    """Of the sweep: a key and its value."""
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def on(cls, *hardware: str) -> Self:
        """By hardware keys, which have a version in front, and names of accelerators."""
        keys = tuple(name for name in hardware if name.startswith("h1:"))
        names = tuple(name for name in hardware if name not in keys)
        return cls(hardware_keys=keys, accelerators=names)

    @property
    def asked(self) -> frozenset[str]:
        """Which of its fields ask anything."""
        return frozenset(name for name in _NAMES if getattr(self, name) not in ((), None))

    @property
    def parameters(self) -> dict[str, object]:
        """Their values, for a statement that was built for `asked`."""
        values = {name: getattr(self, name) for name in self.asked}
        if self.tag is not None:
            values |= dict(zip(("tag_key", "tag_value"), values.pop("tag"), strict=True))
        return values


_NAMES = tuple(field.name for field in fields(ResultFilter))
_OF_POINTS: Final[dict[str, InstrumentedAttribute[str] | InstrumentedAttribute[int]]] = {
    "sweep_ids": PointRow.sweep_id,
    "point_ids": PointRow.id,
    "models": PointRow.model,
    "blocks": PointRow.block,
    "phases": PointRow.phase,
    "arrangements": PointRow.arrangement,
    "tp_degrees": PointRow.tp_degree,
    "batches": PointRow.batch,
    "seqs": PointRow.seq,
    "dtypes": PointRow.dtype,
    "collective_impls": PointRow.collective_impl,
    "overlaps": PointRow.overlap,
    "launches": PointRow.launch,
    "spec_keys": PointRow.spec_key,
}


def about_points(asked: Collection[str]) -> list[ColumnElement[bool]]:
    """What those fields of a filter ask of a point."""
    conditions: list[ColumnElement[bool]] = [
        column.in_(bindparam(name, expanding=True))
        for name, column in _OF_POINTS.items()
        if name in asked
    ]
    if "tag" in asked:
        tagged = select(SweepTagRow.sweep_id).where(
            SweepTagRow.key == bindparam("tag_key"), SweepTagRow.value == bindparam("tag_value")
        )
        conditions.append(PointRow.sweep_id.in_(tagged))
    return conditions


def about_results(asked: Collection[str]) -> list[ColumnElement[bool]]:
    """What they ask of a trial's result."""
    named = select(HardwareRow.hardware_key).where(
        HardwareRow.accelerator.in_(bindparam("accelerators", expanding=True))
    )
    conditions: dict[str, ColumnElement[bool]] = {
        "hardware_keys": ResultRow.hardware_key.in_(bindparam("hardware_keys", expanding=True)),
        "accelerators": ResultRow.hardware_key.in_(named),
        "nodes": ResultRow.node.in_(bindparam("nodes", expanding=True)),
        "since": ResultRow.created_at >= bindparam("since"),
        "until": ResultRow.created_at < bindparam("until"),
    }
    return [condition for name, condition in conditions.items() if name in asked]
