import pytest

from service.dispatch.inventory import Changes
from service.dispatch.placement import GroupPlan, link_class
from service.dispatch.spans import Spans, joined
from service.store.fleet import LONGEST_NAME
from tests.unit.dispatch.builders import CPU, lease
from tests.unit.dispatch.builders import node as node_of
from workers.contract.hardware import NodeFacts
from workers.ray_group.request import GroupRequest, Host


def node(name: str) -> NodeFacts:
    return node_of(CPU).model_copy(update={"name": name})


def test_one_node_at_a_time_passes_as_it_is() -> None:
    spans = Spans(1, link="network")
    assert spans.take(Changes(arrived=(node("a"), node("b")))).arrived == (node("a"), node("b"))
    assert spans.members("a") == ("a",)
    assert spans.take(Changes(left=("a",))).left == ("a",)


def test_nodes_are_joined_once_enough_are_there_and_parted_when_one_leaves() -> None:
    spans = Spans(2, link="network_1gbit")
    assert spans.take(Changes(arrived=(node("b"),))).arrived == ()
    assert not spans.has_any
    (both,) = spans.take(Changes(arrived=(node("a"),))).arrived
    assert both.name == "a+b"
    assert both.num_slots == 2 * node("a").num_slots
    assert both.hardware.hardware_key != node("a").hardware.hardware_key
    assert spans.members("a+b") == ("a", "b")
    assert spans.take(Changes(left=("a",))).left == ("a+b",)
    (again,) = spans.take(Changes(arrived=(node("c"),))).arrived
    assert again.name == "b+c"


def test_a_name_that_is_too_long_to_be_kept_is_shortened_and_always_the_same() -> None:
    hosts = [f"{'rack-' * 6}{number:02}" for number in range(8)]

    def name(*hosts: str) -> str:
        return joined([node(host) for host in hosts], link="network").name

    assert name(*hosts[:2]) == f"{hosts[0]}+{hosts[1]}"
    short = name(*hosts)
    assert short.startswith(f"{hosts[0]}+7-")
    assert len(short) <= LONGEST_NAME
    assert (name(*hosts), name(*hosts[:7], "another") == short) == (short, False)


def test_a_link_between_nodes_is_the_class_of_what_runs_over_it() -> None:
    both = joined([node("a"), node("b")], link="network_1gbit")
    assert link_class(both, [0, 1]) == "network_1gbit"


def test_a_rank_alone_on_several_nodes_sends_over_no_link() -> None:
    both = joined([node("a"), node("b")], link="network_1gbit")
    assert link_class(both, [0]) == "none"
    assert link_class(node("a"), [0]) == CPU.fabric


def request(num_ranks: int, *, num_hosts: int) -> GroupRequest:
    return GroupRequest(
        group_id="g",
        hosts=tuple(Host(node_id=str(k), address=f"10.0.0.{k}") for k in range(num_hosts)),
        device_kind="cpu",
        num_ranks=num_ranks,
        degrees=(num_ranks,),
        cpus_per_rank=1,
        log_dir="logs",
    )


@pytest.mark.parametrize(
    ("num_ranks", "num_hosts", "seats"),
    [
        (4, 2, (0, 0, 1, 1)),
        (3, 2, (0, 0, 1)),
        (4, 3, (0, 0, 1, 2)),
        (8, 3, (0, 0, 0, 1, 1, 1, 2, 2)),
        (2, 4, (0, 1)),
        (1, 2, (0,)),
        (4, 1, (0, 0, 0, 0)),
    ],
)
def test_ranks_are_dealt_out_in_blocks_to_every_host_that_there_is_a_rank_for(
    num_ranks: int, num_hosts: int, seats: tuple[int, ...]
) -> None:
    asked = request(num_ranks, num_hosts=num_hosts)
    assert asked.seats == seats
    assert asked.address == "10.0.0.0"


def test_every_degree_of_a_sweep_reaches_all_nodes_that_are_taken_as_one() -> None:
    both = joined([node("a"), node("b")], link="network_1gbit")
    for degree in (2, 4):
        asked = lease(degrees=(2, 4), tp_degree=degree)
        plan = GroupPlan.for_lease(asked, num_hosts=both.num_hosts)
        seats = request(plan.num_ranks, num_hosts=both.num_hosts).seats
        assert set(seats[:degree]) == {0, 1}
