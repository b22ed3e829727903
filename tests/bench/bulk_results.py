"""Results of a whole sweep written at once, in the database's own form: the queue takes an hour."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Row, column, insert, select, table, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import Insert

from service.analysis.control import ControlSummary, ControlTime
from service.analysis.summary import TrialSummary
from service.store.columns import PackedIntegers
from service.store.models.declarative import Rows
from service.store.models.point import PointRow
from service.store.models.result import ResultRow, SampleRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import AttemptOutcome, TrialState
from tests.narrowing import block_of
from tests.unit.analysis.trials import ENVIRONMENT, PROOF
from tests.unit.reports.measured import summary
from workers.contract.axes import Pass
from workers.contract.hardware import Environment, Hardware
from workers.contract.host_state import HostState
from workers.contract.point import PointSpec

NUM_STEPS = 200
HOST = HostState(
    window_ns=10**9,
    load_average=(0.4, 0.5),
    num_runnable=(1, 2),
    waited_for_core_ns=10**6,
    others_share=0.01,
    steal_share=0.0,
    is_flushing_denormals=True,
    grown_bytes=0,
)

Trials = Sequence[Row[*tuple[object, ...]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """Machines of one hardware."""

    name: str
    hardware: Hardware
    slowness: float
    num_nodes: int

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names."""
        return tuple(f"{self.name}-{number:02d}" for number in range(1, self.num_nodes + 1))


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a sweep was measured; its replicates go to the nodes in turn."""

    kind: Kind
    at: datetime
    driver: str
    nccl: str
    slower: Callable[[str], float]
    """A factor for each node."""
    has_failures: bool = False
    has_samples: bool = False
    """There is a row for each rank: those of old results are left out, which no page reads."""

    def environment(self, node: str) -> Environment:
        """Versions on a node."""
        given = {"hostname": node, "backend": "nccl", "cuda": "13.0", "cpu_model": self.kind.name}
        versions = {"driver": self.driver, "nccl": self.nccl}
        return ENVIRONMENT.model_copy(update=given | versions)


def measure(
    session: Session, sweep_id: str, conditions: Conditions, rng: np.random.Generator
) -> tuple[int, int]:
    """End every trial, with a result unless it fails; return how many points and results."""
    chosen = (
        select(TrialRow.id, TrialRow.replicate, TrialRow.point_id, PointRow.spec_key)
        .add_columns(PointRow.spec)
        .join(PointRow, PointRow.id == TrialRow.point_id)
        .where(TrialRow.sweep_id == sweep_id)
    )
    trials = session.execute(chosen).all()
    bad = {row.id for row in trials[::50]} if conditions.has_failures else set()
    good = [row for row in trials if row.id not in bad]
    session.execute(_plain(ResultRow), list(_results(good, sweep_id, conditions, rng)))
    if conditions.has_samples:
        session.execute(_plain(SampleRow), list(_samples(good)))
    _end(session, sweep_id, sorted(bad), conditions)
    return len({row.point_id for row in good}), len(good)


def _results(
    trials: Trials, sweep_id: str, conditions: Conditions, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    kind = conditions.kind
    proof, hosts = PROOF.model_dump_json(), f"[{HOST.model_dump_json()}]"
    seen = {node: conditions.environment(node).model_dump_json() for node in kind.nodes}
    at = conditions.at.replace(tzinfo=None).isoformat(" ", "microseconds")
    for trial in trials:
        node = kind.nodes[trial.replicate % kind.num_nodes]
        told = _told(trial.spec, conditions, node, rng)
        yield {
            "trial_id": trial.id,
            "point_id": trial.point_id,
            "attempt": 1,
            "sweep_id": sweep_id,
            "replicate": trial.replicate,
            "spec_key": trial.spec_key,
            "hardware_key": kind.hardware.hardware_key,
            "link_class": kind.hardware.fabric,
            "node": node,
            "group_id": f"{sweep_id}-{trial.replicate}",
            "group_kind": "fresh",
            "step_time_us": told.step_time_us,
            "compute_time_us": told.compute_time_us,
            "control": told.control and told.control.model_dump_json(),
            "environment": seen[node],
            "devices": "[]",
            "hosts": hosts,
            "proof": proof,
            "summary": told.model_dump_json(),
            "quality": "[]",
            "stop_rule": "interval",
            "num_warmup_steps": 3,
            "peak_memory_bytes": 1 << 30,
            "wall_ns": 10**9,
            "timed_ns": 10**8,
            "created_at": at,
        }


def _told(
    measured: object, conditions: Conditions, node: str, rng: np.random.Generator
) -> TrialSummary:
    """Pays from a batch on; 0.6 % of noise."""
    assert isinstance(measured, PointSpec)
    spec, slowness = block_of(measured), conditions.kind.slowness
    tokens = spec.batch * spec.seq
    compute_us = slowness * (15 + tokens / 8 / spec.tp_degree)
    communication_us = (spec.tp_degree > 1) * (9 + tokens / 90)
    noise, of_control = 1 + 0.006 * rng.standard_normal(2)
    slower = conditions.slower(node) * noise
    step_us = (compute_us + communication_us) * slower
    told = summary(spec, step_us=step_us, compute_us=compute_us * slower)
    control_us = 200 * slowness * of_control
    gemm = ControlTime(
        median_us=control_us, min_us=0.98 * control_us, dispersion=0.01, num_steps=20
    )
    collective = gemm if spec.tp_degree > 1 else None
    control = ControlSummary(version=1, gemm=gemm, collective=collective)
    return told.model_copy(update={"control": control})


def _samples(trials: Trials) -> Iterator[dict[str, object]]:
    """The clean steps of each rank, all alike."""
    steps_ns = tuple(100_000 + 37 * (step % 29) for step in range(NUM_STEPS))
    packed = PackedIntegers().process_bind_param(steps_ns, None)  # type: ignore[arg-type]
    for trial in trials:
        assert isinstance(trial.spec, PointSpec)
        for rank in range(trial.spec.tp_degree):
            yield {
                "trial_id": trial.id,
                "point_id": trial.point_id,
                "pass": Pass.CLEAN.value,
                "rank": rank,
                "num_steps": NUM_STEPS,
                "step_ns": packed,
                "forward_ns": packed,
            }


def _plain(rows: type[Rows]) -> Insert:
    """Into the same columns, without turning each value into the database's form."""
    names: Iterable[str] = (one.name for one in rows.__table__.c)
    return insert(table(rows.__tablename__, *map(column, names)))


def _end(session: Session, sweep_id: str, bad: Sequence[str], conditions: Conditions) -> None:
    connection, now = session.connection(), conditions.at
    over = {"state": TrialState.SUCCEEDED, "attempt": 1, "num_charged": 1, "finished_at": now}
    connection.execute(update(TrialRow).where(TrialRow.sweep_id == sweep_id).values(over))
    if bad:
        failed = {"state": TrialState.FAILED}
        connection.execute(update(TrialRow).where(TrialRow.id.in_(bad)).values(failed))
        connection.execute(insert(AttemptRow), [_attempt(one, conditions) for one in bad])
    done = {"finished_at": now, "hardware_key": conditions.kind.hardware.hardware_key}
    connection.execute(update(SweepRow).where(SweepRow.id == sweep_id).values(done))


def _attempt(trial_id: str, conditions: Conditions) -> dict[str, object]:
    return {
        "trial_id": trial_id,
        "attempt": 1,
        "owner": "dispatcher",
        "granted_at": conditions.at,
        "ended_at": conditions.at,
        "outcome": AttemptOutcome.FAILED,
        "code": "out_of_memory",
        "message": "no room for 3 GiB",
        "node": conditions.kind.nodes[0],
        "log_tail": "",
        "is_final": True,
    }
