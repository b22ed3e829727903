"""One node: the trial it holds and the group it keeps for it. Knows neither database nor Ray."""

from collections.abc import Callable, Sequence
from typing import assert_never

from service.dispatch.held_trial import HeldTrial
from service.dispatch.kept_group import KeptGroup
from service.dispatch.outcomes import Measured, Outcome, Spoiled, Stopped
from service.dispatch.placement import GroupPlan, HostHealth, link_class
from service.dispatch.worker_group import WorkerGroup
from service.store.leases import Lease
from service.telemetry import get_logger
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
from workers.contract.trial import RankResult
from workers.gather import gather

log = get_logger(__name__)


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
        self._group: KeptGroup | None = None
        self._work: HeldTrial | None = None
        self._health = HostHealth()
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
        if self._work or self.is_closing:
            return False
        is_free = self._group is None or self._group.is_ready
        return is_free and self._health.may_work(now=self._clock())

    @property
    def replicate(self) -> tuple[str, int] | None:
        """Sweep and replicate that its group is at, and may measure more of."""
        if self._group is None or self._group.is_ending:
            return None
        return self._group.replicate

    def is_ready_for(self, lease: Lease) -> bool:
        """Whether the trial can be submitted to the group as it is."""
        return self._group is not None and self._group.is_ready_for(lease)

    @property
    def awaits_start(self) -> Lease | None:
        """The trial that is held, not submitted, and could be now."""
        if self._work is None or self._work.order or self._work.is_cancelled:
            return None
        return self._work.lease if self.is_ready_for(self._work.lease) else None

    def take(self, lease: Lease) -> None:
        """Hold a trial, and get the group that it needs."""
        self._work = HeldTrial(lease)
        self._prepare()

    def submit(self) -> None:
        """Measure the held trial; its start is on record."""
        if self._work is not None and self._group is not None:
            self._work.order = self._group.submit(self._work.lease)

    def rest(self) -> None:
        """Nothing is queued: make the group ready for whatever comes, or let it go in the end."""
        if self._group is not None:
            self._group.rest(now=self._clock())

    def cancel(self) -> None:
        """The trial's sweep was cancelled; Stopped follows when its ranks have stopped."""
        if self._work is not None:
            self._work.cancel(now=self._clock())

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
                if self._group is not None:
                    self._group.become_idle(now=self._clock())
                log.info("group_ready", node=self.node.name, group_id=self.group_id)
            case TrialMeasured(results=results):
                self._finish(results)
            case TrialFailed(loss=loss):
                self._spoil(loss)
            case GroupFailed(loss=loss):
                self._lose_group(loss)
            case GroupEnded(leftover_pids=pids):
                if pids:
                    log.error("processes_left", node=self.node.name, pids=pids)
                self._group = None
            case _:
                assert_never(event)

    def _finish(self, results: Sequence[RankResult]) -> None:
        work, self._work = self._work, None
        if work is None or work.order is None or self._group is None:
            return
        self._health = self._health.after_success()
        if work.is_cancelled:
            self._outcomes.append(Stopped(work.lease))
            return
        result = gather(
            work.order,
            results,
            group_kind=self._group.kind,
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
        if work.is_cancelled:
            self._outcomes.append(Stopped(work.lease))
        else:
            self._outcomes.append(Spoiled(work.lease, loss, self.node.name))

    def _lose_group(self, loss: Loss) -> None:
        if self._group is not None:
            self._group.is_ending = True
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

    def _note_health(self, loss: Loss) -> None:
        if loss.blame in (Blame.RANK, Blame.HOST):
            self._health = self._health.after_failure(now=self._clock())
            if not self._health.may_work(now=self._clock()):
                log.warning(
                    "node_quarantined", node=self.node.name, failures=self._health.num_failures
                )

    def _stop_if_cancelled(self) -> None:
        work = self._work
        if work is None or not work.is_cancelled:
            return
        if work.order is None or self._group is None:
            self._work = None
            self._outcomes.append(Stopped(work.lease))
        elif work.must_stop(now=self._clock()):
            self._end_group()

    def _prepare(self) -> None:
        """Bring the group one step nearer to what the held trial needs."""
        if self._work is None or self._work.order or self.is_closing:
            return
        if self._group is not None:
            self._group.adapt(self._work.lease)
        else:
            plan = GroupPlan.for_lease(self._work.lease, num_hosts=self.node.num_hosts)
            group = self._start_group(self.node, plan)
            self._group = KeptGroup(group, plan, now=self._clock())
            log.info(
                "group_started",
                node=self.node.name,
                group_id=self.group_id,
                num_ranks=plan.num_ranks,
            )

    def _end_group(self) -> None:
        if self._group is not None:
            self._group.end()
