"""A result, or a failure, with all that it hangs on, as one instance hands it to another."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, TypeAdapter, model_validator

from service.analysis.summary import TrialSummary
from service.store.moments import Moment
from service.store.states import AttemptOutcome, TrialState
from workers.contract.axes import GroupKind, Kind, Pass
from workers.contract.frozen import Frozen, Label
from workers.contract.hardware import DeviceFacts, Environment, Hardware
from workers.contract.host_state import HostState
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec
from workers.contract.trial import CollectiveTiming, PassSamples, Proof

RESULT: Final = "tpsweep.result.1"
FAILURE: Final = "tpsweep.failure.1"
LARGEST_INTEGER = (1 << 63) - 1

Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{1,36}$")]
Name = Annotated[Label, StringConstraints(max_length=100)]
Place = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]
Amount = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]


class SweepRecord(Frozen):
    """What was asked."""

    id: Id
    spec: SweepSpec
    created_at: Moment
    created_by: Label
    seed: Amount
    hardware_key: Label | None
    degrees: tuple[Place, ...] = Field(min_length=1)
    num_points: Place
    num_rejected: Place
    finished_at: Moment | None


class PointRecord(Frozen):
    """One combination of it."""

    id: Id
    position: Place
    spec: PointSpec


class TrialRecord(Frozen):
    """One execution of a point, or of a pair."""

    id: Id
    points: tuple[PointRecord, ...] = Field(min_length=1, max_length=2)
    kind: Kind
    replicate: Place
    position: Place
    attempt: Place
    started_at: Moment | None
    finished_at: Moment | None


class ResultRecord(Frozen):
    """What one trial measured of a point."""

    format: Literal["tpsweep.result.1"] = RESULT
    sweep: SweepRecord
    trial: TrialRecord
    point_id: Id
    spec_key: str
    hardware: Hardware
    hardware_key: str
    link_class: Label
    node: Label
    group_id: Label
    group_kind: GroupKind
    environment: Environment
    devices: tuple[DeviceFacts, ...]
    hosts: tuple[HostState, ...]
    proof: Proof
    summary: TrialSummary
    quality: tuple[str, ...]
    stop_rule: Label
    num_warmup_steps: Place
    peak_memory_bytes: Amount
    wall_ns: Amount
    timed_ns: Amount
    created_at: Moment
    samples: dict[Pass, tuple[PassSamples, ...]] | None = None
    """By rank; None where they were left out."""
    collectives: tuple[CollectiveTiming, ...] | None = None

    @model_validator(mode="after")
    def _keys_are_of_what_they_stand_for(self) -> Self:
        if self.point_id not in {point.id for point in self.trial.points}:
            raise ValueError("point_id is not of a point of the trial")
        for name, given, found in (
            ("spec_key", self.spec_key, self.point.spec.spec_key),
            ("hardware_key", self.hardware_key, self.hardware.hardware_key),
        ):
            if given != found:
                raise ValueError(f"{name} is {given}, but what it stands for has {found}")
        return self

    @property
    def state(self) -> TrialState:
        """How the trial ended."""
        return TrialState.SUCCEEDED

    @property
    def ended_at(self) -> datetime:
        """When."""
        return self.trial.finished_at or self.created_at

    @property
    def over_at(self) -> datetime:
        """When its sweep was, as far as is known."""
        return self.sweep.finished_at or self.ended_at

    @property
    def point(self) -> PointRecord:
        """The one it is about."""
        return next(point for point in self.trial.points if point.id == self.point_id)

    @property
    def slowest_ns(self) -> Sequence[int] | None:
        """Every timed step of the clean pass, slowest rank; None without samples."""
        if self.samples is None:
            return None
        ranks = [rank.step_ns for rank in self.samples.get(Pass.CLEAN, ())]
        return [max(steps) for steps in zip(*ranks, strict=True)]


class AttemptRecord(Frozen):
    """One grant of a trial, and how it ended."""

    attempt: Place
    owner: Name
    granted_at: Moment
    started_at: Moment | None
    ended_at: Moment
    outcome: AttemptOutcome
    code: Name | None
    message: str | None
    rank: Place | None
    signal: Place | None
    node: Name | None
    log_tail: str | None
    is_final: bool | None


class FailureRecord(Frozen):
    """A trial that failed, with every attempt at it."""

    format: Literal["tpsweep.failure.1"] = FAILURE
    sweep: SweepRecord
    trial: TrialRecord
    hardware: Hardware | None
    """What the sweep was bound to; None where it never was."""
    attempts: tuple[AttemptRecord, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _hardware_is_what_the_sweep_was_bound_to(self) -> Self:
        key = None if self.hardware is None else self.hardware.hardware_key
        if key != self.sweep.hardware_key:
            raise ValueError(f"the sweep has hardware_key {self.sweep.hardware_key}, not {key}")
        return self

    @property
    def state(self) -> TrialState:
        """How the trial ended."""
        return TrialState.FAILED

    @property
    def ended_at(self) -> datetime:
        """When."""
        return self.trial.finished_at or self.attempts[-1].ended_at

    @property
    def over_at(self) -> datetime:
        """When its sweep was, as far as is known."""
        return self.sweep.finished_at or self.ended_at


Record = ResultRecord | FailureRecord
RECORD: Final = TypeAdapter[Record](Annotated[Record, Field(discriminator="format")])
"""Reads either."""
