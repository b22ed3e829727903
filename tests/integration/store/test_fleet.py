"""The fleet as dispatchers report it, and whose pool is whose."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from service.dispatch.spans import joined
from service.store import fleet
from service.store.engine import Sessions
from tests.integration.store.builders import FakeClock, node, register
from tests.integration.store.locks import is_anyone_waiting
from tests.unit.analysis.trials import HARDWARE
from tests.waiting import wait_until
from workers.contract.hardware import Hardware, NodeFacts

TTL = timedelta(seconds=30)
GPU = HARDWARE.model_copy(update={"accelerator": "Test GPU"})


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


def show(sessions: Sessions, facts: NodeFacts, *, pool: str) -> str | None:
    with sessions.writing() as session:
        return fleet.register(session, facts, pool=pool)


def listed(sessions: Sessions) -> dict[str, tuple[str, Hardware]]:
    with sessions.reading() as session:
        found = fleet.nodes(session)
    return {one.facts.name: (one.pool, one.facts.hardware) for one in found}


def test_nodes_of_two_pools_with_one_name_are_both_known(timed: Sessions, clock: FakeClock) -> None:
    for _ in range(3):
        assert show(timed, node(), pool="a") is None
        assert show(timed, node(GPU), pool="b") == "a"
        clock.advance(30)
    assert listed(timed) == {"node-1": ("a", HARDWARE), "node-1@b": ("b", GPU)}


def test_a_node_that_changes_its_pool_has_its_name_again_after_a_while(
    timed: Sessions, clock: FakeClock
) -> None:
    show(timed, node(), pool="a")
    assert show(timed, node(), pool="b") == "a"
    clock.now += fleet.SHOWN_FOR
    assert show(timed, node(), pool="b") is None
    assert listed(timed) == {"node-1": ("b", HARDWARE)}
    assert show(timed, node(), pool="a") == "b"


def test_what_a_pool_that_is_away_can_run_is_not_forgotten_for_a_name(
    timed: Sessions, clock: FakeClock
) -> None:
    show(timed, node(), pool="a")
    clock.now += 10 * fleet.SHOWN_FOR
    assert show(timed, node(GPU), pool="b") == "a"
    assert listed(timed) == {"node-1": ("a", HARDWARE), "node-1@b": ("b", GPU)}


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_pools_that_show_a_name_at_once_are_both_known(sessions: Sessions) -> None:
    """On SQLite they begin one by one."""
    with ThreadPoolExecutor(1) as pool:
        with sessions.writing() as session:
            fleet.register(session, node(), pool="a")
            showing = pool.submit(show, sessions, node(GPU), pool="b")
            wait_until(lambda: is_anyone_waiting(sessions), within_s=20)
        assert showing.result() == "a"
    assert listed(sessions) == {"node-1": ("a", HARDWARE), "node-1@b": ("b", GPU)}


def test_names_of_many_nodes_taken_as_one_are_kept(sessions: Sessions) -> None:
    many = joined([node(name=f"{'long-' * 12}{n}") for n in range(16)], link="network")
    longest = node(name="n" * fleet.LONGEST_NAME)
    for facts in (many, longest):
        assert show(sessions, facts, pool="a") is None
        assert show(sessions, facts, pool="b" * 100) == "a"
    assert {many.name, longest.name} < set(listed(sessions))
    assert len(listed(sessions)) == 4
