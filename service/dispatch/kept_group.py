"""The group that a node keeps from trial to trial, and what it has been used for."""

from collections.abc import Sequence

from service.dispatch.placement import GroupHistory, GroupPlan, Step, next_step
from service.dispatch.worker_group import WorkerGroup
from service.store.leases import Lease
from workers.contract.axes import GroupKind
from workers.contract.group_events import GroupEvent
from workers.contract.trial import TrialOrder

WARM_FOR_S = 120.0
"""How long a group that has nothing to do is kept."""
DEADLINE_FLOOR_S, DEADLINE_FACTOR = 120.0, 10.0


class KeptGroup:
    """One group from its start to its end; re-formed, or ended, as the next trial needs it."""

    def __init__(self, group: WorkerGroup, plan: GroupPlan, *, now: float) -> None:
        """Take over a group that was started after the plan."""
        self.kind = GroupKind.FRESH
        """Of what it measures now."""
        self.is_ending = False
        self._group = group
        self._history = GroupHistory(plan=plan)
        self._idle_since = now

    @property
    def group_id(self) -> str:
        """Unique."""
        return self._group.group_id

    @property
    def replicate(self) -> tuple[str, int] | None:
        """Sweep and replicate that it is at."""
        return self._history.replicate

    @property
    def is_ready(self) -> bool:
        """Whether it waits for an order, and may still get one."""
        return self._group.is_ready and not self.is_ending

    def is_ready_for(self, lease: Lease) -> bool:
        """Whether the trial can be submitted to the group as it is."""
        return self.is_ready and next_step(self._history, lease) is Step.SUBMIT

    def become_idle(self, *, now: float) -> None:
        """It is formed, and has nothing to do yet."""
        self._idle_since = now

    def submit(self, lease: Lease) -> TrialOrder:
        """Have a trial measured that it is ready for; what the ranks were told."""
        replicate = (lease.sweep_id, lease.replicate)
        if self._history.replicate != replicate:
            self.kind = GroupKind.REGROUPED if self._history.is_used else GroupKind.FRESH
        self._history = GroupHistory(plan=self._history.plan, replicate=replicate, is_used=True)
        order = order_of(lease)
        self._group.submit(order)
        return order

    def adapt(self, lease: Lease) -> None:
        """Once it is ready, bring it one step nearer to what a trial needs."""
        if not self.is_ready:
            return
        match next_step(self._history, lease):
            case Step.SUBMIT:
                pass
            case Step.REGROUP:
                plan = GroupPlan.for_lease(lease, num_hosts=self._history.plan.num_hosts)
                self._regroup(plan, is_used=self._history.is_used)
            case Step.REPLACE:
                self.end()

    def rest(self, *, now: float) -> None:
        """Nothing is queued: be ready for whatever comes, or end after a while."""
        if not self.is_ready:
            return
        if self._history.replicate is not None:
            self._idle_since = now
            self._regroup(self._history.plan, is_used=True)
        elif now - self._idle_since > WARM_FOR_S:
            self.end()

    def end(self) -> None:
        """Kill it; GroupEnded follows."""
        self.is_ending = True
        self._group.end()

    def poll(self) -> Sequence[GroupEvent]:
        """What has happened."""
        return self._group.poll()

    def _regroup(self, plan: GroupPlan, *, is_used: bool) -> None:
        self._history = GroupHistory(plan=plan, is_used=is_used)
        self._group.regroup(plan.degrees)


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
