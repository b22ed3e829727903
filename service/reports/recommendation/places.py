"""Where a model could run: hardware that was seen, or an accelerator whose data are published."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import (
    Accelerator,
    find_accelerator,
    known_names,
)
from service.analysis.recommendation.choice import Room
from service.analysis.recommendation.evidence import Predicted, Predictor
from service.analysis.recommendation.published import from_published
from service.errors import FieldError, InvalidRequestError
from service.reports.recommendation.predictor import from_calibration
from service.store import fleet
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.point import PointSpec

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Place:
    """One kind of hardware."""

    name: str
    room: Room
    hardware_key: str | None
    """None where it was never seen here."""
    predict: Predictor | None


def find_places(session: Session, names: tuple[str, ...]) -> list[Place]:
    """Return one for each name: a hardware_key, part of a seen name, or a published name.

    Without any name all hardware that was seen. InvalidRequestError names what is known.
    """
    nodes = fleet.node_facts(session)
    seen = {
        key: _seen(session, key, facts, nodes) for key, facts in fleet.hardware(session).items()
    }
    if not names:
        if not seen:
            raise _unknown(None, [])
        return list(seen.values())
    return [place for name in names for place in _named(session, name, seen)]


def _named(session: Session, name: str, seen: dict[str, Place]) -> list[Place]:
    if name in seen:
        return [seen[name]]
    found = [place for place in seen.values() if name.lower() in place.name.lower()]
    if found:
        return found
    if (accelerator := find_accelerator(name)) is not None:
        predict = from_calibration(session, name)
        return [replace(published(accelerator), name=name, predict=predict)]
    raise _unknown(name, [place.name for place in seen.values()])


def published(accelerator: Accelerator) -> Place:
    """A server of an accelerator as its maker publishes it."""
    room = Room(round(accelerator.memory_gb * 1e9), accelerator.num_devices)
    return Place(accelerator.name, room, None, from_published(accelerator))


def _seen(session: Session, key: str, facts: Hardware, nodes: Sequence[NodeFacts]) -> Place:
    """The least memory that a node of it showed; what its kind says where none did."""
    own = [node for node in nodes if node.hardware.hardware_key == key]
    known = (node.slot_memory_bytes for node in own if node.slot_memory_bytes)
    memory = min(known, default=facts.memory_class_gib * GIB)
    slots = max((node.num_slots for node in own), default=facts.num_devices)
    calibrated = from_calibration(session, facts.accelerator)

    def predict(spec: PointSpec) -> Predicted | None:
        """For no more ranks than cores: what they take of one another nothing tells."""
        return calibrated(spec) if spec.tp_degree <= facts.num_devices else None

    return Place(facts.accelerator, Room(memory, slots), key, predict)


def _unknown(name: str | None, seen: list[str]) -> InvalidRequestError:
    known = ", ".join([*dict.fromkeys(seen), *known_names()])
    what = "no hardware was seen yet" if name is None else f"{name!r} is no known hardware"
    detail = f"{what}; known are {known}"
    return InvalidRequestError(detail, errors=(FieldError(pointer="?hardware", detail=detail),))
