"""One node: the trial it holds and the group it keeps for it. Knows neither database nor Ray."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from service.dispatch.outcomes import Measured, Outcome, Spoiled, Stopped
from service.dispatch.placement import (
    GroupHistory,
    GroupPlan,
    HostHealth,
    Step,
    link_class,
    next_step,
)
from service.dispatch.worker_group import WorkerGroup
from service.store.leases import Lease
from service.telemetry import get_logger
from workers.contract.axes import GroupKind
from workers.contract.group_events import (
    Blame,
    GroupEnded,
    GroupEvent,
    GroupFailed,
    GroupReady,
    Loss,
    TrialFailed,
    TrialMeasured,
)
from workers.contract.hardware import NodeFacts
from workers.contract.trial import RankResult, TrialOrder
from workers.gather import gather

WARM_FOR_S = 120.0
"""How long a group that has nothing to do is kept."""
CANCEL_GRACE_S = 0.5
"""A trial this near its end may reach it: killing its group costs more."""
DEADLINE_FLOOR_S, DEADLINE_FACTOR = 120.0, 10.0

log = get_logger(__name__)


@dataclass(slots=True)
class _Work:
    """The trial a station holds."""

    lease: Lease
    order: TrialOrder | None = None
    """Set once it was submitted."""
    cancelled_at: float | None = None


class Station:
    """At most one group and one trial at a time: what is timed there has the node to itself."""

    def __init__(
        self,
        node: NodeFacts,
        *,
        start_group: Callable[[NodeFacts, GroupPlan], WorkerGroup],
        clock: Callable[[], float],
    ) -> None:
        self.node = node
        self.is_closing = False
        self._start_group = start_group
        self._clock = clock
        self._group: WorkerGroup | None = None
        self._history: GroupHistory | None = None
        self._kind = GroupKind.FRESH
        self._is_ending = False
        self._work: _Work | None = None
        self._health = HostHealth()
        self._idle_since = clock()
        self._outcomes: list[Outcome] = []

    @property
    def lease(self) -> Lease | None:
        """What it holds."""
        return self._work.lease if self._work else None

    @property
    def is_measuring(self) -> bool:
        """Whether ranks are at work on its trial."""
        return self._work is not None and self._work.order is not None

    @property
    def has_group(self) -> bool:
        """Whether any process of a group may be left."""
        return self._group is not None

    @property
    def group_id(self) -> str | None:
        """Of the group it keeps, if any."""
        return self._group.group_id if self._group else None

    @property
    def wants_work(self) -> bool:
        """Whether a trial could begin now: the group is ready, or there is none to wait for."""
        if self._work or self.is_closing or self._is_ending:
            return False
        is_free = self._group is None or self._group.is_ready
        return is_free and self._health.may_work(now=self._clock())

    @property
    def replicate(self) -> tuple[str, int] | None:
        """Sweep and replicate that its group is at."""
        return self._history.replicate if self._history else None

    def is_ready_for(self, lease: Lease) -> bool:
        """Whether the trial can be submitted to the group as it is."""
        return (
            self._group is not None
            and self._history is not None
            and not self._is_ending
            and self._group.is_ready
            and next_step(self._history, lease) is Step.SUBMIT
        )

    @property
    def awaits_start(self) -> Lease | None:
        """The trial that is held, not submitted, and could be now."""
        if self._work is None or self._work.order or self._work.cancelled_at is not None:
            return None
        return self._work.lease if self.is_ready_for(self._work.lease) else None

    def take(self, lease: Lease) -> None:
        """Hold a trial, and get the group that it needs."""
        self._work = _Work(lease)
        self._prepare()

    def submit(self) -> None:
        """Measure the held trial; its start is on record."""
        if self._work is None or self._group is None or self._history is None:
            return
        lease = self._work.lease
        replicate = (lease.sweep_id, lease.replicate)
        if self._history.replicate != replicate:
            self._kind = GroupKind.REGROUPED if self._history.is_used else GroupKind.FRESH
        self._history = GroupHistory(plan=self._history.plan, replicate=replicate, is_used=True)
        self._work.order = order_of(lease)
        self._group.submit(self._work.order)

    def rest(self) -> None:
        """Nothing is queued: make the group ready for whatever comes, or let it go in the end."""
        if self._group is None or self._history is None or not self._group.is_ready:
            return
        if self._history.replicate is not None:
            plan, self._idle_since = self._history.plan, self._clock()
            self._history = GroupHistory(plan=plan, is_used=True)
            self._group.regroup(plan.degrees)
        elif self._clock() - self._idle_since > WARM_FOR_S:
            self._end_group()

    def cancel(self) -> None:
        """The trial's sweep was cancelled; Stopped follows when its ranks have stopped."""
        if self._work and self._work.cancelled_at is None:
            self._work.cancelled_at = self._clock()

    def drop(self) -> None:
        """The trial is no longer ours: stop it, and say nothing more of it."""
        if self.is_measuring:
            self._end_group()
        self._work = None

    def close(self) -> None:
        """Take no more work; end the group. What is held is dropped."""
        self.is_closing = True
        self._work = None
        self._end_group()

    def lose_host(self) -> None:
        """The cluster says that the node is gone; the trial it held goes elsewhere."""
        self.is_closing = True
        message = f"node {self.node.name} left the cluster"
        self._spoil(Loss(blame=Blame.HOST, code="host_lost", message=message))
        self._end_group()

    def poll(self) -> list[Outcome]:
        """Let the group move on; return what became of the trial."""
        for event in self._group.poll() if self._group else ():
            self._hear(event)
        self._stop_if_cancelled()
        self._prepare()
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def _hear(self, event: GroupEvent) -> None:
        match event:
            case GroupReady():
                self._idle_since = self._clock()
                log.info("group_ready", node=self.node.name, group_id=self.group_id)
            case TrialMeasured(results=results):
                self._finish(results)
            case TrialFailed(loss=loss):
                self._spoil(loss)
            case GroupFailed(loss=loss):
                self._is_ending = True
                self._note_health(loss)
                log.warning(
                    "group_failed",
                    node=self.node.name,
                    group_id=self.group_id,
                    code=loss.code,
                    rank=loss.rank,
                    message=loss.message,
                )
                self._spoil(loss)
            case GroupEnded(leftover_pids=pids):
                if pids:
                    log.error("processes_left", node=self.node.name, pids=pids)
                self._group, self._history, self._is_ending = None, None, False
            case _:
                assert_never(event)

    def _finish(self, results: Sequence[RankResult]) -> None:
        work, self._work = self._work, None
        if work is None or work.order is None or self._group is None:
            return
        self._health = self._health.after_success()
        if work.cancelled_at is not None:
            self._outcomes.append(Stopped(work.lease))
            return
        result = gather(
            work.order,
            results,
            group_kind=self._kind,
            group_id=self._group.group_id,
            hardware_key=self.node.hardware.hardware_key,
            link_class=link_class(self.node, [result.device.index for result in results]),
            node=self.node.name,
        )
        self._outcomes.append(Measured(work.lease, result))

    def _spoil(self, loss: Loss) -> None:
        work, self._work = self._work, None
        if work is None:
            return
        if work.cancelled_at is not None:
            self._outcomes.append(Stopped(work.lease))
        else:
            self._outcomes.append(Spoiled(work.lease, loss, self.node.name))

    def _note_health(self, loss: Loss) -> None:
        if loss.blame in (Blame.RANK, Blame.HOST):
            self._health = self._health.after_failure(now=self._clock())
            if not self._health.may_work(now=self._clock()):
                log.warning(
                    "node_quarantined", node=self.node.name, failures=self._health.num_failures
                )

    def _stop_if_cancelled(self) -> None:
        work = self._work
        if work is None or work.cancelled_at is None:
            return
        if work.order is None or self._group is None:
            self._work = None
            self._outcomes.append(Stopped(work.lease))
        elif self._clock() - work.cancelled_at > CANCEL_GRACE_S:
            self._end_group()

    def _prepare(self) -> None:
        """Bring the group one step nearer to what the held trial needs."""
        if self._work is None or self._work.order or self._is_ending or self.is_closing:
            return
        if self._group is None or self._history is None:
            plan = GroupPlan.for_lease(self._work.lease)
            self._group = self._start_group(self.node, plan)
            self._history = GroupHistory(plan=plan)
            log.info(
                "group_started",
                node=self.node.name,
                group_id=self.group_id,
                num_ranks=plan.num_ranks,
            )
        elif self._group.is_ready:
            self._adapt(self._group, self._history, self._work.lease)

    def _adapt(self, group: WorkerGroup, history: GroupHistory, lease: Lease) -> None:
        match next_step(history, lease):
            case Step.SUBMIT:
                pass
            case Step.REGROUP:
                plan = GroupPlan.for_lease(lease)
                self._history = GroupHistory(plan=plan, is_used=history.is_used)
                group.regroup(plan.degrees)
            case Step.REPLACE:
                self._end_group()

    def _end_group(self) -> None:
        if self._group is not None:
            self._is_ending = True
            self._group.end()


def order_of(lease: Lease) -> TrialOrder:
    """What the ranks are told. Past the deadline they end themselves."""
    time_s = lease.sampling.max_time_s * (1 if lease.pair_spec is None else 2)
    return TrialOrder(
        trial_id=lease.trial_id,
        attempt=lease.attempt,
        replicate=lease.replicate,
        point=lease.spec,
        pair_point=lease.pair_spec,
        sampling=lease.sampling,
        seed=lease.seed,
        profile=lease.profile and lease.replicate == 0,
        deadline_s=DEADLINE_FLOOR_S + DEADLINE_FACTOR * time_s,
    )
