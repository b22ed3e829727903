"""Nodes that come, go, and share a host."""

from service.dispatch.inventory import Inventory, RayNode
from tests.unit.dispatch.builders import node as facts
from tests.unit.dispatch.fake_group import FakeClock
from workers.contract.hardware import NodeFacts


def ray_node(node_id: str, *, host: str = "h1", cpus: float = 2, alive: bool = True) -> RayNode:
    return RayNode.model_validate(
        {
            "NodeID": node_id,
            "Alive": alive,
            "NodeManagerAddress": "10.0.0.1",
            "NodeManagerHostname": host,
            "Resources": {"CPU": cpus},
            "Labels": {},
        }
    )


class FakeLook:
    def __init__(self, answer: NodeFacts | Exception) -> None:
        self._answer = answer

    def poll(self) -> NodeFacts | Exception | None:
        return self._answer


class FakeCluster:
    """Nodes that a test sets, looked at in no time."""

    def __init__(self, *nodes: RayNode) -> None:
        self.nodes = list(nodes)
        self.looks: list[str] = []
        self.broken: set[str] = set()
        self.clock = FakeClock()
        self.inventory = Inventory(
            list_nodes=lambda: self.nodes, look_at=self._look_at, clock=self.clock
        )

    def _look_at(self, name: str, node: RayNode) -> FakeLook:
        self.looks.append(name)
        assert node.is_alive
        return FakeLook(OSError("no driver") if name in self.broken else facts(name=name))

    def later(self) -> tuple[list[str], list[str]]:
        """Names that came and went by the next survey."""
        self.clock.now += 11
        changes = self.inventory.poll()
        return [found.name for found in changes.arrived], list(changes.left)


def test_a_node_is_looked_at_once_and_named_after_its_host() -> None:
    cluster = FakeCluster(ray_node("a"))
    assert cluster.later() == (["h1"], [])
    assert cluster.later() == ([], [])
    assert cluster.looks == ["h1"]
    assert cluster.inventory.is_complete


def test_nodes_of_one_host_are_told_apart_by_their_id() -> None:
    cluster = FakeCluster(ray_node("a" * 40), ray_node("b" * 40))
    assert cluster.later() == (["h1-aaaaaaaa", "h1-bbbbbbbb"], [])


def test_a_node_keeps_its_name_when_the_other_on_its_host_leaves() -> None:
    cluster = FakeCluster(ray_node("a" * 40), ray_node("b" * 40))
    cluster.later()
    cluster.nodes = cluster.nodes[1:]
    assert cluster.later() == ([], ["h1-aaaaaaaa"])
    assert cluster.inventory.node("h1-bbbbbbbb").node_id == "b" * 40


def test_heads_for_control_and_dead_nodes_are_passed_over() -> None:
    cluster = FakeCluster(ray_node("a", cpus=0), ray_node("b", alive=False))
    assert cluster.later() == ([], [])
    assert not cluster.inventory.is_complete


def test_a_node_that_is_gone_has_left_and_may_come_back() -> None:
    cluster = FakeCluster(ray_node("a"))
    cluster.later()
    cluster.nodes = []
    assert cluster.later() == ([], ["h1"])
    cluster.nodes = [ray_node("c")]
    assert cluster.later() == (["h1"], [])


def test_a_host_whose_ray_was_started_again_is_another_node() -> None:
    cluster = FakeCluster(ray_node("a"))
    cluster.later()
    cluster.nodes = [ray_node("b")]
    assert cluster.later() == (["h1"], ["h1"])


def test_a_node_that_cannot_be_looked_at_is_tried_again_later() -> None:
    cluster = FakeCluster(ray_node("a"))
    cluster.broken = {"h1"}
    assert cluster.later() == ([], [])
    cluster.broken = set()
    assert cluster.later() == (["h1"], [])
    assert cluster.looks == ["h1", "h1"]
