"""Which nodes the cluster has, and what they are. Looks at each node once, when it appears."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from service.telemetry import get_logger
from workers.contract.hardware import NodeFacts

SURVEY_EVERY_S = 2.0
LOOK_AGAIN_AFTER_S = 10.0

log = get_logger(__name__)


class RayNode(BaseModel):
    """One entry of `ray.nodes()`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    node_id: str = Field(alias="NodeID")
    is_alive: bool = Field(alias="Alive")
    address: str = Field(alias="NodeManagerAddress")
    hostname: str = Field(alias="NodeManagerHostname")
    resources: dict[str, float] = Field(alias="Resources")

    @property
    def num_cpus(self) -> float:
        """CPUs that Ray counts there."""
        return self.resources.get("CPU", 0)

    @property
    def can_hold_ranks(self) -> bool:
        """A head without CPUs and GPUs is for control only."""
        return self.is_alive and (self.num_cpus > 0 or self.resources.get("GPU", 0) > 0)


def name_nodes(nodes: Sequence[RayNode], *, known: Mapping[str, RayNode]) -> dict[str, RayNode]:
    """Name each node after its host; several on one host get a part of their id as well.

    A node keeps the name it has, whoever comes and goes.
    """
    names = {node.node_id: name for name, node in known.items()}
    hosts = [node.hostname for node in nodes]
    for node in nodes:
        is_alone = hosts.count(node.hostname) == 1
        name = node.hostname if is_alone else f"{node.hostname}-{node.node_id[:8]}"
        names.setdefault(node.node_id, name)
    return {names[node.node_id]: node for node in nodes}


class Look(Protocol):
    """A probe of one node, on its way."""

    def poll(self) -> NodeFacts | Exception | None:
        """What was found, why nothing was, or None while nobody knows."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a survey found that was not so before."""

    arrived: tuple[NodeFacts, ...] = ()
    left: tuple[str, ...] = ()


class Inventory:
    """The nodes of one cluster by name."""

    def __init__(
        self,
        *,
        list_nodes: Callable[[], Sequence[RayNode]],
        look_at: Callable[[str, RayNode], Look],
        clock: Callable[[], float],
    ) -> None:
        self._list_nodes = list_nodes
        self._look_at = look_at
        self._clock = clock
        self._next_survey = 0.0
        self._seen: dict[str, RayNode] = {}
        self._known: dict[str, NodeFacts] = {}
        self._looks: dict[str, Look] = {}
        self._look_after: dict[str, float] = {}

    @property
    def is_complete(self) -> bool:
        """Whether every node that was seen is known, and there is one."""
        return bool(self._known) and set(self._known) == set(self._seen)

    def node(self, name: str) -> RayNode:
        """Ray's view of a known node."""
        return self._seen[name]

    def poll(self) -> Changes:
        """Survey if it is time, and take in what the looks have found."""
        left: tuple[str, ...] = ()
        if self._clock() >= self._next_survey:
            self._next_survey = self._clock() + SURVEY_EVERY_S
            left = self._survey()
        return Changes(arrived=tuple(self._take_in()), left=left)

    def _survey(self) -> tuple[str, ...]:
        alive = name_nodes(
            [node for node in self._list_nodes() if node.can_hold_ranks], known=self._seen
        )
        gone = [
            name
            for name, node in self._seen.items()
            if name not in alive or alive[name].node_id != node.node_id
        ]
        left = tuple(name for name in gone if self._forget(name))
        self._seen = alive
        for name, node in alive.items():
            is_due = self._clock() >= self._look_after.get(name, 0)
            if name not in self._known and name not in self._looks and is_due:
                self._looks[name] = self._look_at(name, node)
        return left

    def _forget(self, name: str) -> bool:
        self._looks.pop(name, None)
        return self._known.pop(name, None) is not None

    def _take_in(self) -> list[NodeFacts]:
        arrived = []
        for name, look in list(self._looks.items()):
            found = look.poll()
            if found is None:
                continue
            del self._looks[name]
            if isinstance(found, NodeFacts):
                self._known[name] = found
                arrived.append(found)
            else:
                self._look_after[name] = self._clock() + LOOK_AGAIN_AFTER_S
                log.error("node_not_probed", node=name, error=str(found))
        return arrived
