from collections.abc import Callable
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, String
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import Mapped, mapped_column

from service.analysis.control import ControlSummary
from service.analysis.summary import TrialSummary
from service.store.columns import Document, PackedIntegers, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, KEY, NAME
from workers.contract.axes import Collective, GroupKind, Pass
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.host_state import HostState
from workers.contract.trial import Proof


def _of_summary(name: str) -> Callable[[DefaultExecutionContext], object]:
    """A part of the summary beside it: whoever inserts a result gives the summary alone."""

    def part(context: DefaultExecutionContext) -> object:
        given = context.get_current_parameters()  # type: ignore[no-untyped-call]
        return getattr(given["summary"], name)

    return part


class ResultRow(Rows):
    """What one trial measured of a point; at most one for each of its points, never changed.

    Three parts of the summary have columns of their own, for who reads thousands of results.
    """

    __tablename__ = "results"

    trial_id: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    point_id: Mapped[str] = mapped_column(ForeignKey("points.id"), primary_key=True)
    attempt: Mapped[int]
    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    replicate: Mapped[int]
    spec_key: Mapped[str] = mapped_column(String(KEY))
    hardware_key: Mapped[str] = mapped_column(ForeignKey("hardware.hardware_key"))
    link_class: Mapped[str] = mapped_column(String(NAME))
    node: Mapped[str] = mapped_column(String(NAME))
    group_id: Mapped[str] = mapped_column(String(NAME))
    group_kind: Mapped[GroupKind] = mapped_column(choice(GroupKind, name="group_kind"))
    step_time_us: Mapped[float] = mapped_column(default=_of_summary("step_time_us"))
    compute_time_us: Mapped[float] = mapped_column(default=_of_summary("compute_time_us"))
    control: Mapped[ControlSummary | None] = mapped_column(
        Document(ControlSummary, num_kept=0), default=_of_summary("control")
    )
    environment: Mapped[Environment] = mapped_column(Document(Environment))
    devices: Mapped[tuple[DeviceFacts, ...]] = mapped_column(Document(tuple[DeviceFacts, ...]))
    hosts: Mapped[tuple[HostState, ...] | None] = mapped_column(Document(tuple[HostState, ...]))
    """By rank; None of results from before it was recorded."""
    proof: Mapped[Proof] = mapped_column(Document(Proof))
    summary: Mapped[TrialSummary] = mapped_column(Document(TrialSummary, num_kept=0))
    quality: Mapped[tuple[str, ...]] = mapped_column(Document(tuple[str, ...]))
    stop_rule: Mapped[str] = mapped_column(String(NAME))
    num_warmup_steps: Mapped[int]
    peak_memory_bytes: Mapped[int] = mapped_column(BigInteger)
    wall_ns: Mapped[int] = mapped_column(BigInteger)
    timed_ns: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (
        Index(None, "sweep_id", "wall_ns"),
        Index(None, "point_id", "replicate", "hardware_key"),
        Index(None, "spec_key", "hardware_key", "point_id", "sweep_id"),
        Index(None, "created_at", "trial_id"),
    )


def _of_a_result() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["trial_id", "point_id"], ["results.trial_id", "results.point_id"])


class SampleRow(Rows):
    """The steps of one pass on one rank, in the order they ran."""

    __tablename__ = "samples"

    trial_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    point_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    pass_: Mapped[Pass] = mapped_column("pass", choice(Pass, name="pass"), primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    num_steps: Mapped[int]
    step_ns: Mapped[tuple[int, ...]] = mapped_column(PackedIntegers)
    forward_ns: Mapped[tuple[int, ...]] = mapped_column(PackedIntegers)

    __table_args__ = (_of_a_result(),)


class ProfileRow(Rows):
    """What torch's profiler recorded on rank 0, outside the timed steps."""

    __tablename__ = "profiles"

    trial_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    point_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    collective_share: Mapped[float | None]
    trace_gzip: Mapped[bytes] = mapped_column(LargeBinary)
    """Empty where it was too large."""

    __table_args__ = (_of_a_result(),)


class CollectiveSampleRow(Rows):
    """One collective of the step over all ranks, a value for each step of its pass."""

    __tablename__ = "collective_samples"

    trial_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    point_id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """In the order of the step."""
    op: Mapped[Collective] = mapped_column(choice(Collective, name="op"))
    place: Mapped[str] = mapped_column(String(NAME))
    message_bytes: Mapped[int] = mapped_column(BigInteger)
    wire_ns: Mapped[tuple[int, ...]] = mapped_column(PackedIntegers)
    wait_ns: Mapped[tuple[int, ...]] = mapped_column(PackedIntegers)
    timed_in: Mapped[Pass] = mapped_column(choice(Pass, name="timed_in"))

    __table_args__ = (_of_a_result(),)
