"""Leases become Ray actors here and nowhere else: only this module imports the worker group."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import ray
from ray import ObjectRef
from ray.actor import ActorHandle
from ray.exceptions import RayError

from service.dispatch.inventory import Changes, Inventory, RayNode
from service.dispatch.placement import GroupPlan, cpus_per_rank, device_kind
from service.dispatch.rank_logs import forget_old_logs, log_dir
from service.dispatch.spans import Spans
from workers.contract.hardware import NodeFacts
from workers.ray_group.agent import NodeAgent
from workers.ray_group.group import RayGroup
from workers.ray_group.request import GroupRequest, GroupTimings, Host
from workers.ray_group.scout import look_at, station_agent

TTL_MARGIN_S = 10.0
"""How much longer than its lease a rank lives that hears nothing of its dispatcher."""
COLLECTIVE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """How groups are started."""

    home: Path
    cpu_devices: int | None = None
    timings: GroupTimings = field(default_factory=GroupTimings)
    rank_class: str = "workers.rank:Rank"
    probe: str = "workers.runtime.probe:probe_node"
    variables: dict[str, str] = field(default_factory=dict)
    """For the ranks' environment."""
    nodes_per_group: int = 1
    link: str = "network"
    """Between the nodes of a group."""


def timings_for(lease_ttl_s: float) -> GroupTimings:
    """A rank outlives its lease by a margin, then ends itself."""
    return GroupTimings(
        rendezvous_timeout_s=COLLECTIVE_TIMEOUT_S, rank_ttl_s=lease_ttl_s + TTL_MARGIN_S
    )


class _RayLook:
    """A probe running as a task."""

    def __init__(self, ref: ObjectRef[NodeFacts]) -> None:
        self.ref = ref

    def poll(self) -> NodeFacts | Exception | None:
        ready, _ = ray.wait([self.ref], timeout=0)
        if not ready:
            return None
        try:
            return ray.get(self.ref, timeout=1)
        except RayError as error:
            return error


class RayExecutor:
    """Nodes and groups of the cluster that this process is the driver of."""

    def __init__(
        self, options: ExecutorOptions, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._inventory = Inventory(list_nodes=_list_nodes, look_at=self._look_at, clock=clock)
        self._spans = Spans(options.nodes_per_group, link=options.link)
        self._looks: list[_RayLook] = []
        self._agents: dict[str, ActorHandle[NodeAgent]] = {}
        self._groups: list[RayGroup] = []

    @property
    def knows_its_fleet(self) -> bool:
        """Whether every node of the cluster has been looked at, and there are enough of them."""
        return self._inventory.is_complete and self._spans.has_any

    def survey(self) -> Changes:
        """Nodes that came, with what they are, and names of those that went."""
        changes = self._inventory.poll()
        for name in changes.left:
            self._agents.pop(name, None)
        return self._spans.take(changes)

    def start(self, node: NodeFacts, plan: GroupPlan) -> RayGroup:
        """Begin to start a group; returns at once."""
        names = self._spans.members(node.name)
        seen = [self._inventory.node(name) for name in names]
        group_id = secrets.token_hex(8)
        forget_old_logs(self._options.home)
        request = GroupRequest(
            group_id=group_id,
            hosts=tuple(Host(node_id=one.node_id, address=one.address) for one in seen),
            device_kind=device_kind(node),
            num_ranks=plan.num_ranks,
            degrees=plan.degrees,
            cpus_per_rank=cpus_per_rank(
                num_cpus=min(one.num_cpus for one in seen),
                num_ranks=-(-plan.num_ranks // len(seen)),
            ),
            log_dir=str(log_dir(self._options.home, group_id)),
            rank_class=self._options.rank_class,
            variables=self._options.variables,
            timings=self._options.timings,
        )
        agents = [self._agent(name, one) for name, one in zip(names, seen, strict=True)]
        group = RayGroup(request, agents=agents)
        self._groups = [*(known for known in self._groups if not known.has_ended), group]
        return group

    def wait(self, timeout_s: float) -> bool:
        """Return True when anything has come that is worth a poll, False after the timeout."""
        refs = [ref for group in self._groups for ref in group.refs]
        self._looks = [look for look in self._looks if look.poll() is None]
        refs += [cast("ObjectRef[object]", look.ref) for look in self._looks]
        if not refs:
            time.sleep(timeout_s)
            return False
        ready, _ = ray.wait(refs, num_returns=1, timeout=timeout_s)
        return bool(ready)

    def _look_at(self, name: str, node: RayNode) -> _RayLook:
        ref = look_at(
            node.node_id,
            name=name,
            address=node.address,
            num_cpu_slots=self._options.cpu_devices,
            probe=self._options.probe,
        )
        look = _RayLook(ref)
        self._looks.append(look)
        return look

    def _agent(self, name: str, node: RayNode) -> ActorHandle[NodeAgent]:
        if name not in self._agents:
            self._agents[name] = station_agent(node.node_id)
        return self._agents[name]


def _list_nodes() -> Sequence[RayNode]:
    return [RayNode.model_validate(node) for node in ray.nodes()]  # type: ignore[no-untyped-call]
