"""Sets of GPUs, held against trying all of them."""

from itertools import combinations

from hypothesis import given, settings

from tests.unit.contract.matrices import topologies, topology
from workers.contract.links import badness
from workers.contract.topology import Topology, best_sets


@settings(max_examples=60)
@given(topologies())
def test_no_set_of_any_other_gpus_has_a_better_worst_link(drawn: Topology) -> None:
    num_gpus = len(drawn.links)
    for size in range(1, num_gpus + 1):
        sets = best_sets(drawn, size)
        taken = [gpu for gpus in sets for gpu in gpus]
        assert len(set(taken)) == len(taken)
        best = min(badness(drawn.worst_link(one)) for one in combinations(range(num_gpus), size))
        assert {badness(drawn.worst_link(one)) for one in sets} == {best}
        left = [gpu for gpu in range(num_gpus) if gpu not in taken]
        assert all(badness(drawn.worst_link(one)) > best for one in combinations(left, size)), (
            "another set is as good and was left out"
        )


def test_pairs_come_out_as_pairs_and_halves_as_halves() -> None:
    bridges = topology("X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X")
    assert best_sets(bridges, 2) == ((0, 1), (2, 3))
    assert best_sets(bridges, 3) == ((0, 1, 2),)
