"""What no machine can run is looked for at a cost that does not grow with the fleet."""

from sqlalchemy import Engine, event

from service.store import unplaceable
from service.store.engine import Sessions
from service.store.states import SweepState, TrialState
from tests.integration.store.builders import find, node, submit, sweep_spec
from tests.unit.dispatch.builders import GPU

MOST_STATEMENTS = 5


def test_many_equal_nodes_are_asked_about_once_for_all_sweeps(
    engine: Engine, sessions: Sessions
) -> None:
    kept = [submit(sessions, sweep_spec(batches=1, degrees=(4,))) for _ in range(30)]
    fleet = [node(name=f"n{number}", num_slots=1 + number % 4) for number in range(30)]
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *facts: statements.append(facts[2]))
    with sessions.writing() as session:
        assert unplaceable.fail_unplaceable(session, [*fleet, node(GPU, name="gpu")]) == 0
    assert len(statements) <= MOST_STATEMENTS
    assert all(find(sessions, one.id).state is SweepState.QUEUED for one in kept)


def test_the_largest_node_of_the_asked_kind_decides(sessions: Sessions) -> None:
    there = submit(sessions, sweep_spec(batches=1, degrees=(1, 2)))
    elsewhere = submit(sessions, sweep_spec(batches=1, degrees=(1, 2), accelerator="Test GPU"))
    fleet = [node(num_slots=2), node(GPU, name="gpu", num_slots=1)]
    with sessions.writing() as session:
        assert unplaceable.fail_unplaceable(session, fleet) == 1
    assert find(sessions, there.id).counts[TrialState.FAILED] == 0
    assert find(sessions, elsewhere.id).counts[TrialState.FAILED] == 1
