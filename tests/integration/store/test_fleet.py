"""The fleet as dispatchers report it, and whose pool is whose."""

from datetime import timedelta

from service.store import fleet
from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock, node, register
from tests.unit.analysis.trials import HARDWARE
from workers.contract.hardware import Hardware

TTL = timedelta(seconds=30)


def take(sessions: Sessions, owner: str, pool: str = "pool") -> bool:
    with sessions.writing() as session:
        return fleet.lease_pool(session, pool, owner=owner, ttl=TTL)


def test_a_node_is_what_was_last_seen_of_it(timed: Sessions, clock: FakeClock) -> None:
    register(timed, node(num_slots=4))
    first_seen = clock.now
    clock.advance(60)
    larger = Hardware(**{**HARDWARE.model_dump(), "num_devices": 8})
    register(timed, node(larger, num_slots=8))
    with timed.reading() as session:
        (found,) = fleet.nodes(session)
        assert found.facts == node(larger, num_slots=8)
        assert (found.first_seen_at, found.last_seen_at) == (first_seen, clock.now)
        assert fleet.hardware(session) == {h.hardware_key: h for h in (HARDWARE, larger)}


def test_nodes_are_listed_by_name_and_by_pool(sessions: Sessions) -> None:
    register(sessions, node(name="b", num_slots=4))
    register(sessions, node(name="a", num_slots=8))
    with sessions.reading() as session:
        assert [found.facts.name for found in fleet.nodes(session)] == ["a", "b"]
        assert fleet.nodes(session, pool="other") == []
        assert len(fleet.nodes(session, pool="pool")) == 2


def test_a_pool_has_one_dispatcher(timed: Sessions, clock: FakeClock) -> None:
    assert take(timed, "first")
    assert not take(timed, "second")
    assert take(timed, "second", pool="another pool")
    clock.advance(29)
    assert take(timed, "first"), "renewed"
    clock.advance(29)
    assert not take(timed, "second")
    clock.advance(1)
    assert take(timed, "second"), "the first stopped renewing"
    assert not take(timed, "first")


def test_a_pool_that_is_given_back_is_free_at_once(sessions: Sessions) -> None:
    assert take(sessions, "first")
    with sessions.writing() as session:
        fleet.release_pool(session, "pool", owner="second")
    assert not take(sessions, "second"), "only its owner gives it back"
    with sessions.writing() as session:
        fleet.release_pool(session, "pool", owner="first")
    assert take(sessions, "second")
