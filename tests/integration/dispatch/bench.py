"""A dispatcher over a real database and fake groups, on a clock that moves only when told to."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, select

from service.dispatch.inventory import Changes
from service.dispatch.lookout import LONGEST_WAIT_S
from service.dispatch.loop import Dispatcher
from service.settings import Settings
from service.store.engine import Sessions
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import TrialState
from tests.integration.store.builders import find
from tests.unit.dispatch.builders import node
from tests.unit.dispatch.fake_group import FakeGroup, FakeGroups
from workers.contract.hardware import NodeFacts


class Time:
    """The dispatcher's monotonic clock and the database's, in step."""

    def __init__(self) -> None:
        self._start = datetime(2026, 1, 1, tzinfo=UTC)
        self.elapsed = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.elapsed

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.elapsed)

    def pass_(self, seconds: float) -> None:
        self.elapsed += seconds


class FakeExecutor:
    """A cluster of fake groups. Each wait is a chance for the test to act."""

    def __init__(self, time: Time, nodes: tuple[NodeFacts, ...]) -> None:
        self.groups = FakeGroups()
        self.measures = True
        """Whether groups finish what they are given."""
        self.on_wait: Callable[[], None] = lambda: None
        self._time = time
        self._arriving = nodes
        self._leaving: tuple[str, ...] = ()
        self._handled: set[tuple[str, str, int]] = set()

    @property
    def knows_its_fleet(self) -> bool:
        return not self._arriving

    def survey(self) -> Changes:
        changes = Changes(arrived=self._arriving, left=self._leaving)
        self._arriving, self._leaving = (), ()
        return changes

    def start(self, facts: NodeFacts, plan: object) -> FakeGroup:
        return self.groups.start(facts, plan)  # type: ignore[arg-type]

    def wait(self, timeout_s: float) -> bool:
        assert timeout_s <= LONGEST_WAIT_S
        self._time.pass_(LONGEST_WAIT_S)
        self.on_wait()
        if self.measures:
            self.finish_all()
        return True

    def join(self, facts: NodeFacts) -> None:
        self._arriving = (facts,)

    def lose(self, name: str) -> None:
        self._leaving = (name,)

    def finish_all(self) -> None:
        """Whatever was submitted is measured."""
        for group in self.groups.started:
            for order in group.orders[-1:]:
                key = (group.group_id, order.trial_id, order.attempt)
                if key not in self._handled and not group.is_ended:
                    self._handled.add(key)
                    group.finish()


class Bench:
    """One database; as many dispatchers as a test makes."""

    def __init__(self, engine: Engine) -> None:
        self.time = Time()
        self.sessions = Sessions(engine, clock=self.time.now)

    def dispatcher(
        self, *nodes: NodeFacts, pool: str = "default", sessions: Sessions | None = None
    ) -> tuple[Dispatcher, FakeExecutor]:
        executor = FakeExecutor(self.time, nodes or (node(),))
        dispatcher = Dispatcher(
            Settings(pool=pool),
            sessions=sessions or self.sessions,
            executor=executor,
            clock=self.time.monotonic,
        )
        return dispatcher, executor

    def finish(self, dispatcher: Dispatcher, *sweep_ids: str, turns: int = 500) -> None:
        """Turn until the sweeps are over."""
        for _ in range(turns):
            assert dispatcher.turn()
            if all(find(self.sessions, sweep_id).finished_at for sweep_id in sweep_ids):
                return
        raise AssertionError("the sweeps did not come to an end")

    def until(
        self, dispatcher: Dispatcher, condition: Callable[[], object], *, turns: int = 500
    ) -> None:
        """Turn until it holds."""
        for _ in range(turns):
            if condition():
                return
            assert dispatcher.turn()
        raise AssertionError("it did not come to that")

    def states(self, sweep_id: str) -> dict[TrialState, int]:
        counts = find(self.sessions, sweep_id).counts
        return {state: count for state, count in counts.items() if count}

    def num_results(self) -> int:
        """Results of all sweeps."""
        with self.sessions.reading() as session:
            return len(list(session.scalars(select(ResultRow.trial_id))))

    def attempts(self) -> list[AttemptRow]:
        """Every attempt at every trial, in order."""
        with self.sessions.reading() as session:
            order = (AttemptRow.trial_id, AttemptRow.attempt)
            return list(session.scalars(select(AttemptRow).order_by(*order)))

    def trials(self) -> list[TrialRow]:
        with self.sessions.reading() as session:
            return list(session.scalars(select(TrialRow).order_by(TrialRow.id)))
