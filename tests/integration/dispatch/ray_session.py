"""A Ray of our own for the tests of one module, started as the dispatcher starts its."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
import ray
from ray.actor import ActorHandle

from service.dispatch.cluster import Cluster
from service.dispatch.environment import ray_environment
from service.dispatch.inventory import RayNode
from service.settings import Settings
from tests.waiting import wait_until
from workers.contract.group_events import GroupEvent
from workers.contract.point import PointSpec
from workers.contract.sweep import Sampling
from workers.contract.trial import TrialOrder
from workers.ray_group.agent import NodeAgent
from workers.ray_group.group import RayGroup
from workers.ray_group.request import GroupRequest, GroupTimings, Host
from workers.ray_group.scout import station_agent

STAND_IN = "tests.integration.dispatch.stand_in_rank:StandInRank"
REAL = "tests.integration.dispatch.faulty_rank:FaultyRank"

E = TypeVar("E")


@contextmanager
def environment_for_ray(home: Path) -> Iterator[str]:
    """The dispatcher's environment in this process, and the mark of everything started in it.

    Mode and token of authentication are those of the whole test run, from the top conftest: Ray
    remembers them for as long as the process lives.
    """
    before = dict(os.environ)
    settings = Settings(home=home)
    mark = secrets.token_hex(16)
    os.environ.update(ray_environment(os.environ, settings, mark=mark))
    os.environ.pop("RAY_ADDRESS", None)
    try:
        yield mark
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def ray_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNode]:
    """The one node of a Ray that lives as long as the module's tests."""
    home = tmp_path_factory.mktemp("home")
    with environment_for_ray(home) as mark:
        cluster = Cluster(Settings(home=home), mark=mark)
        try:
            (node,) = ray.nodes()  # type: ignore[no-untyped-call]
            yield RayNode.model_validate(node)
        finally:
            cluster.stop()


@pytest.fixture(scope="module")
def agent(ray_node: RayNode) -> ActorHandle[NodeAgent]:
    """The node's agent."""
    return station_agent(ray_node.node_id)


class GroupBench:
    """Starts groups on one node and polls them; ends all of them."""

    def __init__(self, node: RayNode, agent: ActorHandle[NodeAgent], folder: Path) -> None:
        self._node = node
        self._agent = agent
        self.folder = folder
        self._groups: list[RayGroup] = []

    def start(
        self,
        *,
        num_ranks: int = 2,
        rank_class: str = STAND_IN,
        variables: dict[str, str] | None = None,
        timings: GroupTimings | None = None,
        cpus_per_rank: float | None = None,
    ) -> RayGroup:
        number = len(self._groups)
        request = GroupRequest(
            group_id=f"{self.folder.name}-{number}",
            hosts=(Host(node_id=self._node.node_id, address=self._node.address),),
            device_kind="cpu",
            num_ranks=num_ranks,
            degrees=tuple(range(1, num_ranks + 1)),
            cpus_per_rank=cpus_per_rank or 1 / num_ranks,
            log_dir=str(self.folder / f"group{number}"),
            rank_class=rank_class,
            variables=variables or {},
            timings=timings or GroupTimings(),
        )
        group = RayGroup(request, agents=[self._agent])
        self._groups.append(group)
        return group

    def close(self) -> None:
        """End every group and wait until its processes are gone."""
        for group in self._groups:
            group.end()
        deadline = time.monotonic() + 30
        while any(not group.has_ended for group in self._groups):
            assert time.monotonic() < deadline, "a group did not end"
            for group in self._groups:
                group.poll()
            time.sleep(0.02)


def events_of(group: RayGroup, *, within_s: float) -> Iterator[GroupEvent]:
    """Poll as the dispatcher does; what happens, as it happens."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if group.refs:
            ray.wait(group.refs, num_returns=1, timeout=0.05)
        else:
            time.sleep(0.02)
        yield from group.poll()


def wait_for(group: RayGroup, wanted: type[E], *, within_s: float = 60) -> E:
    """The next event of that kind; the others are dropped."""
    seen: list[GroupEvent] = []
    for event in events_of(group, within_s=within_s):
        if isinstance(event, wanted):
            return event
        seen.append(event)
    raise AssertionError(f"no {wanted.__name__} within {within_s} s, but {seen}")


def order(point: PointSpec, *, trial_id: str = "t", deadline_s: float = 60) -> TrialOrder:
    return TrialOrder(
        trial_id=trial_id,
        attempt=1,
        replicate=0,
        point=point,
        sampling=Sampling(max_time_s=0.1),
        seed=1,
        deadline_s=deadline_s,
    )


def alive(pids: tuple[int, ...]) -> list[int]:
    """Those that are still processes, zombies apart."""
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def check_gone(pids: tuple[int, ...]) -> None:
    """No process is left, once a machine that is busy has come to bury what was killed."""
    wait_until(lambda: alive(pids) == [], within_s=10)
