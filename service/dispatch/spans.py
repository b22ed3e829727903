"""Several nodes taken as one, so that worker groups reach across the network between them."""

from collections.abc import Sequence
from hashlib import sha256

from service.dispatch.inventory import Changes
from service.store.fleet import LONGEST_NAME
from workers.contract.hardware import NodeFacts


class Spans:
    """Joins nodes of one hardware, in order of their names, as soon as enough are there."""

    def __init__(self, num_nodes: int, *, link: str) -> None:
        """`link` names what is between the nodes: figures over two links are two hardwares'."""
        self._num_nodes = num_nodes
        self._link = link
        self._single: dict[str, NodeFacts] = {}
        self._members: dict[str, tuple[str, ...]] = {}

    @property
    def has_any(self) -> bool:
        """Whether anything could hold a group."""
        return bool(self._members)

    def members(self, name: str) -> tuple[str, ...]:
        """Names of the nodes behind one name."""
        return self._members[name]

    def take(self, changes: Changes) -> Changes:
        """Say of spans what came and went, told it of nodes."""
        left = [
            name
            for name, members in self._members.items()
            if not set(members).isdisjoint(changes.left)
        ]
        for name in left:
            del self._members[name]
        for name in changes.left:
            self._single.pop(name, None)
        self._single |= {node.name: node for node in changes.arrived}
        return Changes(arrived=tuple(self._form()), left=tuple(left))

    def _form(self) -> list[NodeFacts]:
        taken = {name for members in self._members.values() for name in members}
        by_hardware: dict[str, list[NodeFacts]] = {}
        for name, node in sorted(self._single.items()):
            if name not in taken:
                by_hardware.setdefault(node.hardware.hardware_key, []).append(node)
        formed = []
        for nodes in by_hardware.values():
            for start in range(0, len(nodes) - self._num_nodes + 1, self._num_nodes):
                group = nodes[start : start + self._num_nodes]
                span = joined(group, link=self._link)
                self._members[span.name] = tuple(node.name for node in group)
                formed.append(span)
        return formed


def joined(nodes: Sequence[NodeFacts], *, link: str) -> NodeFacts:
    """One node with the devices of all, connected by the link; one alone stays as it is."""
    first, *others = nodes
    if not others:
        return first
    hardware = first.hardware.model_copy(
        update={"num_devices": sum(n.hardware.num_devices for n in nodes), "fabric": link}
    )
    return first.model_copy(
        update={
            "name": _joined_name([node.name for node in nodes]),
            "num_hosts": len(nodes),
            "hardware": hardware,
            "num_slots": sum(node.num_slots for node in nodes),
            "slot_memory_bytes": min(node.slot_memory_bytes for node in nodes),
            "topology": "",  # each host counts its devices from 0: no text is of all of them
        }
    )


def _joined_name(names: Sequence[str]) -> str:
    """All of them; where that is too long to be kept, the first, how many more, and a hash of all.

    The same nodes always have the same name: their history goes by it.
    """
    whole = "+".join(names)
    if len(whole) <= LONGEST_NAME:
        return whole
    digest = sha256(whole.encode()).hexdigest()[:8]
    return f"{names[0]}+{len(names) - 1}-{digest}"
