"""A dispatcher in this process over real ranks on a real Ray, and what its database says."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sqlalchemy import func, select

from service.dispatch.executor import ExecutorOptions, RayExecutor, timings_for
from service.dispatch.loop import Dispatcher
from service.settings import Settings
from service.store.engine import Sessions, create_engine
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import AttemptOutcome, TrialState
from tests.integration.dispatch.ray_session import REAL
from tests.integration.dispatch.stand_in_rank import PLAN_VARIABLE, Fault, FaultPlan
from tests.integration.store.builders import find, submit
from tests.narrowing import block_of
from workers.contract.axes import GroupKind
from workers.contract.sweep import Sampling, SweepSpec
from workers.ray_group.group import RayGroup

TTL_S = 60.0


def quick_sweep(
    *,
    batches: int = 3,
    degrees: tuple[int, ...] = (2,),
    replicates: int = 1,
    max_time_s: float = 0.1,
    min_steps: int = 5,
) -> SweepSpec:
    """A small MLP; a trial takes `max_time_s` or less, but never fewer than `min_steps`."""
    return SweepSpec.model_validate(
        {
            "models": [{"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}],
            "blocks": "mlp",
            "tp_degree": list(degrees),
            "batch": list(range(1, batches + 1)),
            "replicates": replicates,
            "group_kind": GroupKind.REGROUPED,
            "sampling": Sampling(
                max_time_s=max_time_s, target_rel_ci=1e-6, min_steps=min_steps
            ).model_dump(),
        }
    )


class DispatchBench:
    """Runs sweeps with planned faults. Close it."""

    def __init__(self, sqlite_url: str, folder: Path) -> None:
        self.sessions = Sessions(create_engine(sqlite_url))
        self.plan = FaultPlan(folder)
        options = ExecutorOptions(
            home=folder,
            rank_class=REAL,
            variables={PLAN_VARIABLE: str(folder)},
            timings=replace(timings_for(TTL_S), rendezvous_timeout_s=20),
        )
        self.dispatcher = Dispatcher(
            Settings(home=folder, lease_ttl_s=TTL_S),
            sessions=self.sessions,
            executor=RayExecutor(options),
        )

    def submit(self, spec: SweepSpec, *faults: Fault) -> str:
        self.plan.write(*faults)
        return submit(self.sessions, spec).id

    def until(self, condition: Callable[[], object], *, within_s: float) -> float:
        """Turn until it holds; how long it took."""
        began = time.monotonic()
        while not condition():
            assert time.monotonic() - began < within_s, "it did not come to that in time"
            assert self.dispatcher.turn()
        return time.monotonic() - began

    def finish(self, sweep_id: str, *, within_s: float = 60) -> float:
        return self.until(lambda: find(self.sessions, sweep_id).finished_at, within_s=within_s)

    def measuring(self, batch: int) -> bool:
        """Whether ranks are at the point of that batch."""
        stations = self.dispatcher._stations.all
        held = [s.lease for s in stations if s.is_measuring and s.lease]
        return any(block_of(lease.spec).batch == batch for lease in held)

    def pids(self) -> tuple[int, ...]:
        """Of the ranks of all groups that are there."""
        kept = [station._group for station in self.dispatcher._stations.all]
        groups = [one._group for one in kept if one is not None]
        return tuple(pid for group in groups if isinstance(group, RayGroup) for pid in group.pids)

    def failures(self, sweep_id: str) -> list[AttemptRow]:
        """A sweep's attempts that ended, and not with a result."""
        asked = (
            select(AttemptRow)
            .join(TrialRow, TrialRow.id == AttemptRow.trial_id)
            .where(TrialRow.sweep_id == sweep_id)
        )
        with self.sessions.reading() as session:
            rows = session.scalars(asked.order_by(AttemptRow.granted_at))
            return [row for row in rows if row.outcome not in {None, AttemptOutcome.SUCCEEDED}]

    def check_every_trial_is_accounted_for_once(self) -> None:
        """Over, nobody's, and exactly one result where it succeeded."""
        with self.sessions.reading() as session:
            for trial in session.scalars(select(TrialRow)):
                count = session.scalar(select(func.count()).where(ResultRow.trial_id == trial.id))
                assert trial.owner is None
                assert trial.state in {
                    TrialState.SUCCEEDED,
                    TrialState.FAILED,
                    TrialState.CANCELLED,
                }
                assert count == (trial.state is TrialState.SUCCEEDED)

    def close(self) -> None:
        """Stop as on SIGTERM."""
        self.dispatcher.stop()
        assert self.dispatcher._finish() == 0
        self.sessions.engine.dispose()
