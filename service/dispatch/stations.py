"""A station for each node of the cluster, as nodes come and go."""

from collections.abc import Callable
from typing import Protocol

from service.dispatch.inventory import Changes
from service.dispatch.outcomes import Outcome
from service.dispatch.placement import GroupPlan
from service.dispatch.station import Station
from service.dispatch.worker_group import WorkerGroup
from service.telemetry import get_logger
from workers.contract.hardware import NodeFacts

FLEET_SETTLES_S = 3.0
"""Before a trial is called impossible: another dispatcher may be about to show its nodes."""

log = get_logger(__name__)


class Executor(Protocol):
    """The cluster as the loop needs it; a fake stands in for it in tests."""

    @property
    def knows_its_fleet(self) -> bool:
        """Whether every node has been looked at."""

    def survey(self) -> Changes:
        """Nodes that came and went."""

    def start(self, node: NodeFacts, plan: GroupPlan) -> WorkerGroup:
        """Begin to start a group."""

    def wait(self, timeout_s: float) -> bool:
        """Sleep until something happens; return whether it did."""


class Stations:
    """Those that take work, and those that end."""

    def __init__(self, executor: Executor, *, clock: Callable[[], float]) -> None:
        self.all: list[Station] = []
        self._executor = executor
        self._clock = clock
        self._fleet_known_since: float | None = None

    @property
    def fleet_has_settled(self) -> bool:
        """Whether what no node can measure may be called impossible."""
        since = self._fleet_known_since
        return since is not None and self._clock() - since > FLEET_SETTLES_S

    def follow_the_fleet(self) -> bool:
        """Close the stations of nodes that left, open those of new ones; True if there are any."""
        changes = self._executor.survey()
        for name in changes.left:
            log.warning("node_left", node=name)
            for station in self.all:
                if station.node.name == name and not station.is_closing:
                    station.lose_host()
        for facts in changes.arrived:
            log.info(
                "node_arrived",
                node=facts.name,
                accelerator=facts.hardware.accelerator,
                slots=facts.num_slots,
            )
            station = Station(facts, start_group=self._executor.start, clock=self._clock)
            self.all.append(station)
        if self._fleet_known_since is None and self._executor.knows_its_fleet:
            self._fleet_known_since = self._clock()
        return bool(changes.arrived)

    def poll(self) -> list[Outcome]:
        """Let every group move on; return what became of trials. What has ended is forgotten."""
        outcomes = [outcome for station in self.all for outcome in station.poll()]
        self.all = [one for one in self.all if one.has_group or not one.is_closing]
        return outcomes

    def end_groups(self, *, within_s: float, look_every_s: float) -> None:
        """Close every station, and wait for what is left of the groups."""
        for station in self.all:
            station.close()
        deadline = self._clock() + within_s
        while any(one.has_group for one in self.all) and self._clock() < deadline:
            self._executor.wait(look_every_s)
            for station in self.all:
                station.poll()
