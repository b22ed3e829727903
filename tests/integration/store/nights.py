"""Nights of a schedule, written as if dispatchers had measured them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import insert, select, update

from service.analysis.control import ControlSummary, ControlTime
from service.analysis.schedules.spec import ScheduleSpec
from service.store import findings, fleet, judging, schedules
from service.store.engine import Sessions
from service.store.findings import FindingFilter, StoredFinding
from service.store.judging import Judgement
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.states import TrialState
from tests.integration.store.builders import FakeClock, register, submit, sweep_spec
from tests.narrowing import block_of
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE, PROOF
from tests.unit.reports.measured import summary
from workers.contract.axes import GroupKind
from workers.contract.hardware import Hardware
from workers.contract.sweep import SweepSpec

NIGHT = timedelta(days=1)
POLICY = "nightly"
COMMUNICATION = 0.5


@dataclass(frozen=True)
class OfNode:
    """What one node measured on one night: a step time for each case, and its control."""

    steps_us: Sequence[float]
    control_us: float | None = None
    driver: str | None = None


@dataclass
class Nights:
    """Writes one night after the other and lets them be judged.

    Case i is batch i + 1; half of a step of those that are `communicating` is communication.
    """

    sessions: Sessions
    clock: FakeClock
    num_cases: int = 1
    communicating: frozenset[int] = frozenset()
    hardware: Hardware = HARDWARE
    sweep_ids: list[str] = field(default_factory=list)

    def spec(self, *, num_nodes: int, tags: Mapping[str, str] | None = None) -> SweepSpec:
        return sweep_spec(
            batches=self.num_cases,
            degrees=(1,),
            replicates=num_nodes,
            tags={} if tags is None else dict(tags),
        )

    def schedule(self) -> None:
        """From now on nights are judged; what was measured before is history."""
        self.clock.advance(3600)
        asked = ScheduleSpec(name=POLICY, cron="0 2 * * *", sweep=self.spec(num_nodes=1))
        with self.sessions.writing() as session:
            schedules.create(session, asked, created_by="alice")

    def measure(self, by_node: Mapping[str, OfNode]) -> str:
        """One night's sweep, finished: a replicate on each node."""
        self.clock.now += NIGHT
        register(self.sessions)
        tags = {"schedule": POLICY}
        sweep_id = submit(self.sessions, self.spec(num_nodes=len(by_node), tags=tags)).id
        self.sweep_ids.append(sweep_id)
        self.finish(sweep_id, by_node)
        return sweep_id

    def finish(self, sweep_id: str, by_node: Mapping[str, OfNode]) -> None:
        """Give every trial of a sweep its result; the replicates go to the nodes in turn."""
        names = list(by_node)
        chosen = (
            select(TrialRow.id, TrialRow.replicate, PointRow)
            .join(PointRow, PointRow.id == TrialRow.point_id)
            .where(TrialRow.sweep_id == sweep_id)
        )
        with self.sessions.writing() as session:
            fleet.note_hardware(session, self.hardware)
            rows = [
                self._row(trial_id, replicate, point, name=name, of=by_node[name])
                for trial_id, replicate, point in session.execute(chosen).all()
                for name in [names[replicate % len(names)]]
            ]
            session.execute(insert(ResultRow), rows)
            done = {"state": TrialState.SUCCEEDED}
            session.execute(update(TrialRow).where(TrialRow.sweep_id == sweep_id).values(done))
            over = {"finished_at": self.clock.now, "hardware_key": self.hardware.hardware_key}
            session.execute(update(SweepRow).where(SweepRow.id == sweep_id).values(over))

    def judge(self) -> list[Judgement]:
        """Judge what is due, as a watch does."""
        with self.sessions.reading() as session:
            due = judging.due(session)
        found = []
        for one in due:
            with self.sessions.reading() as session:
                looked = judging.look(session, one)
            with self.sessions.writing() as session:
                schedule = schedules.take(session, one.schedule_id)
                assert schedule is not None
                found.append(judging.judge(session, schedule, looked))
        return [one for one in found if one is not None]

    def findings(self) -> list[StoredFinding]:
        """All that there are, newest first."""
        with self.sessions.reading() as session:
            return list(findings.page(session, FindingFilter(), limit=100).items)

    def _row(
        self, trial_id: str, replicate: int, point: PointRow, *, name: str, of: OfNode
    ) -> dict[str, object]:
        case = point.batch - 1
        step_us = of.steps_us[case]
        compute_us = step_us * (1 - COMMUNICATION if case in self.communicating else 1)
        told = summary(block_of(point.spec), step_us=step_us, compute_us=compute_us)
        return {
            "trial_id": trial_id,
            "point_id": point.id,
            "attempt": 1,
            "sweep_id": point.sweep_id,
            "replicate": replicate,
            "spec_key": point.spec_key,
            "hardware_key": self.hardware.hardware_key,
            "link_class": "host_memory",
            "node": name,
            "group_id": f"{point.sweep_id}-{replicate}",
            "group_kind": GroupKind.FRESH,
            "environment": ENVIRONMENT.model_copy(update={"driver": of.driver}),
            "devices": (),
            "hosts": (),
            "proof": PROOF,
            "summary": told.model_copy(update={"control": _control(of.control_us)}),
            "quality": (),
            "stop_rule": "interval",
            "num_warmup_steps": 3,
            "peak_memory_bytes": 1 << 20,
            "wall_ns": 10**9,
            "timed_ns": 10**8,
            "created_at": self.clock.now,
        }


def _control(gemm_us: float | None) -> ControlSummary | None:
    if gemm_us is None:
        return None
    gemm = ControlTime(median_us=gemm_us, min_us=gemm_us, dispersion=0.01, num_steps=20)
    return ControlSummary(version=1, gemm=gemm, collective=None)
