"""A worker group that does what the test says, when it is polled."""

from collections.abc import Sequence

from service.dispatch.placement import GroupPlan
from tests.unit.workers.builders import rank_result
from workers.contract.group_events import (
    GroupEnded,
    GroupEvent,
    GroupFailed,
    GroupReady,
    Loss,
    TrialFailed,
    TrialMeasured,
)
from workers.contract.hardware import NodeFacts
from workers.contract.trial import TrialOrder


class FakeGroup:
    """Becomes ready and ends at the next poll; measures when told to."""

    def __init__(self, plan: GroupPlan, *, group_id: str) -> None:
        self.plan = plan
        self.group_id = group_id
        self.is_ready = False
        self.orders: list[TrialOrder] = []
        self.formations: list[tuple[int, ...]] = [plan.degrees]
        self.is_ended = False
        self._next: list[GroupEvent] = [GroupReady(0, ())]

    def submit(self, order: TrialOrder) -> None:
        assert self.is_ready
        self.is_ready = False
        self.orders.append(order)

    def regroup(self, degrees: tuple[int, ...]) -> None:
        assert self.is_ready
        self.is_ready = False
        self.formations.append(degrees)
        self._next.append(GroupReady(len(self.formations) - 1, ()))

    def end(self) -> None:
        if not self.is_ended:
            self.is_ended, self.is_ready = True, False
            self._next = [GroupEnded()]

    def finish(self) -> None:
        """The submitted trial is measured."""
        order = self.orders[-1]
        results = tuple(rank_result(rank) for rank in range(order.point.tp_degree))
        self._next.append(TrialMeasured(order.trial_id, results))

    def refuse(self, loss: Loss) -> None:
        """The point cannot be measured; the group lives on."""
        self._next += [TrialFailed(self.orders[-1].trial_id, loss), GroupReady(1, ())]

    def fail(self, loss: Loss) -> None:
        """The group is lost."""
        self.is_ended, self.is_ready = True, False
        self._next = [GroupFailed(None, loss), GroupEnded()]

    def poll(self) -> Sequence[GroupEvent]:
        """One event at a time, as they come."""
        if not self._next:
            return ()
        event = self._next.pop(0)
        if isinstance(event, GroupReady | TrialMeasured):
            self.is_ready = True
        return (event,)


class FakeGroups:
    """Starts fake groups and remembers them."""

    def __init__(self) -> None:
        self.started: list[FakeGroup] = []

    def start(self, node: NodeFacts, plan: GroupPlan) -> FakeGroup:
        group = FakeGroup(plan, group_id=f"{node.name}-g{len(self.started)}")
        self.started.append(group)
        return group

    @property
    def last(self) -> FakeGroup:
        return self.started[-1]


class FakeClock:
    """A monotonic clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
