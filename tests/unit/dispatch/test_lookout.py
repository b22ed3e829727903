"""What ends the loop's sleep."""

from collections.abc import Iterator

import pytest

from service.dispatch.lookout import LONGEST_WAIT_S, Lookout
from service.dispatch.station import Station
from tests.unit.dispatch.builders import lease, node
from tests.unit.dispatch.fake_group import FakeClock, FakeGroups

LOOK_EVERY_S = 0.002


class Sleeper:
    """Ray and the database, neither with news until the test says so; sleeping takes its time."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.slept: list[float] = []
        self.num_questions = 0
        self.ray: Iterator[bool] = iter(())
        self.database: Iterator[bool] = iter(())
        self.lookout = Lookout(self._sleep, self._ask, look_every_s=LOOK_EVERY_S, clock=self.clock)

    def _sleep(self, timeout_s: float) -> bool:
        self.slept.append(timeout_s)
        self.clock.now += timeout_s
        return next(self.ray, False)

    def _ask(self) -> bool:
        self.num_questions += 1
        return next(self.database, False)


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


def idle_station() -> Station:
    return Station(node(), start_group=FakeGroups().start, clock=FakeClock())


def measuring_station() -> Station:
    station = idle_station()
    station.take(lease())
    while not station.awaits_start:
        station.poll()
    station.submit()
    return station


def test_a_commit_ends_the_sleep_within_one_interval(sleeper: Sleeper) -> None:
    sleeper.database = iter([False, False, True])
    sleeper.lookout.wait([idle_station()])
    assert sleeper.slept == [LOOK_EVERY_S] * 3


def test_news_from_ray_ends_it_without_a_question(sleeper: Sleeper) -> None:
    sleeper.ray = iter([True])
    sleeper.lookout.wait([idle_station()])
    assert sleeper.num_questions == 0


def test_without_news_it_ends_all_the_same(sleeper: Sleeper) -> None:
    sleeper.lookout.wait([idle_station()])
    assert LONGEST_WAIT_S <= sum(sleeper.slept) < LONGEST_WAIT_S + 2 * LOOK_EVERY_S


@pytest.mark.parametrize("others", [(), (idle_station(),)])
def test_nobody_asks_the_database_while_something_is_timed(
    sleeper: Sleeper, others: tuple[Station, ...]
) -> None:
    sleeper.lookout.wait([measuring_station(), *others])
    assert sleeper.slept == [LONGEST_WAIT_S]
    assert sleeper.num_questions == 0


def test_without_a_node_there_is_nothing_to_ask_for(sleeper: Sleeper) -> None:
    sleeper.lookout.wait([])
    assert sleeper.slept == [LONGEST_WAIT_S]
