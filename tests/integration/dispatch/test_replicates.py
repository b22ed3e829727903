"""A replicate is measured by the group that began it, though other nodes are free."""

from collections import Counter

from tests.integration.dispatch.bench import Bench
from tests.integration.store.builders import submit, sweep_spec
from tests.unit.dispatch.builders import node
from workers.contract.group_events import Blame, Loss

NO_MEMORY = Loss(blame=Blame.POINT, code="out_of_memory", message="no room", is_final=True)
DIED = Loss(blame=Blame.RANK, code="rank_died", message="rank 0 died by SIGKILL")


class Scene:
    """Node a measures the only trial of a sweep, and node b the first of four of one replicate.

    Not a fixture: the dispatcher has to let go of its connection before its engine is disposed of.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        specs = (sweep_spec(batches=1, degrees=(1,)), sweep_spec(batches=4, degrees=(1,)))
        self.sweep_ids = [submit(bench.sessions, spec).id for spec in specs]
        self.dispatcher, self.executor = bench.dispatcher(node(name="a"), node(name="b"))
        self.executor.measures = False
        bench.until(self.dispatcher, lambda: self.trials_by_node() == {"a": 1, "b": 1})

    def trials_by_node(self) -> dict[str, int]:
        """How many were given to the groups of each node."""
        groups = self.executor.groups.started
        return Counter(group.group_id[0] for group in groups for _ in group.orders)

    def finish(self) -> None:
        self.executor.measures = True
        self.bench.finish(self.dispatcher, *self.sweep_ids)


def test_a_node_that_is_asked_first_does_not_take_a_replicate_between_two_trials(
    bench: Bench,
) -> None:
    scene = Scene(bench)
    scene.finish()
    assert scene.trials_by_node() == {"a": 1, "b": 4}


def test_no_node_takes_a_replicate_while_its_group_is_formed_anew(bench: Bench) -> None:
    scene = Scene(bench)
    a, b = scene.executor.groups.started
    a.finish()
    b.refuse(NO_MEMORY)
    for _ in range(2):
        scene.dispatcher.turn()
    scene.finish()
    assert scene.trials_by_node() == {"a": 1, "b": 4}


def test_another_node_goes_on_with_a_replicate_whose_group_has_died(bench: Bench) -> None:
    scene = Scene(bench)
    a, b = scene.executor.groups.started
    a.finish()
    b.fail(DIED)
    scene.finish()
    assert scene.trials_by_node() == {"a": 5, "b": 1}
