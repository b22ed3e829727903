"""Which results are meant, and the same as SQL that takes the values as parameters."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from sqlalchemy import JSON, ColumnElement, bindparam, func, or_, select, tuple_, type_coerce
from sqlalchemy.orm import InstrumentedAttribute

from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepTagRow
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase


class Version(StrEnum):
    """Versions of an environment that results can be asked for by."""

    TORCH = "torch"
    CUDA = "cuda"
    NCCL = "nccl"
    DRIVER = "driver"
    PYTHON = "python"
    RAY = "ray"
    OS = "os"


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
    """Names as the hardware has them; beside hardware_keys, either will do."""
    nodes: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    """Of the sweep: keys and their values, all of them."""
    versions: tuple[tuple[Version, str], ...] = ()
    """What ran: each at that version."""
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
        names = {name for name in _NAMES if getattr(self, name) not in ((), None)}
        return frozenset(names | {f"{_VERSION}{name}" for name, _ in self.versions})

    @property
    def parameters(self) -> dict[str, object]:
        """Their values, for a statement that was built for `asked`."""
        values = {name: getattr(self, name) for name in _NAMES if name in self.asked}
        if values.pop("versions", None):
            values |= {f"{_VERSION}{name}": value for name, value in self.versions}
        if self.tags:
            values["num_tags"] = len(self.tags)
        return values


EVERYTHING: Final = ResultFilter()
_NAMES = tuple(field.name for field in fields(ResultFilter))
_VERSION = "version_of_"
"""What stands before a version's name in `asked`, since each is a condition of its own."""
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
    if "tags" in asked:
        tagged = (
            select(SweepTagRow.sweep_id)
            .where(
                tuple_(SweepTagRow.key, SweepTagRow.value).in_(bindparam("tags", expanding=True))
            )
            .group_by(SweepTagRow.sweep_id)
            .having(func.count() == bindparam("num_tags"))
        )
        conditions.append(PointRow.sweep_id.in_(tagged))
    return conditions


def about_hardware(
    asked: Collection[str], key: InstrumentedAttribute[str] | InstrumentedAttribute[str | None]
) -> list[ColumnElement[bool]]:
    """What they ask of the hardware that a column has the key of."""
    named = select(HardwareRow.hardware_key).where(
        HardwareRow.accelerator.in_(bindparam("accelerators", expanding=True))
    )
    conditions: dict[str, ColumnElement[bool]] = {
        "hardware_keys": key.in_(bindparam("hardware_keys", expanding=True)),
        "accelerators": key.in_(named),
    }
    wanted = [condition for name, condition in conditions.items() if name in asked]
    return [or_(*wanted)] if wanted else []


def about_results(asked: Collection[str]) -> list[ColumnElement[bool]]:
    """What they ask of a trial's result."""
    conditions: dict[str, ColumnElement[bool]] = {
        "nodes": ResultRow.node.in_(bindparam("nodes", expanding=True)),
        "since": ResultRow.created_at >= bindparam("since"),
        "until": ResultRow.created_at < bindparam("until"),
    }
    document = type_coerce(ResultRow.environment, JSON)
    for name in Version:
        at_version = document[name.value].as_string() == bindparam(f"{_VERSION}{name}")
        conditions[f"{_VERSION}{name}"] = at_version
    return [
        *about_hardware(asked, ResultRow.hardware_key),
        *(condition for name, condition in conditions.items() if name in asked),
    ]
