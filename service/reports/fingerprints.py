"""What a spec_key or a hardware_key stands for, field by field."""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import Field, JsonValue
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store import fingerprints as stored
from workers.contract.frozen import Frozen
from workers.contract.hardware import Hardware
from workers.contract.probe import Measurable


class FingerprintKind(StrEnum):
    """What a key identifies."""

    SPEC = "spec"
    HARDWARE = "hardware"


class FingerprintField(Frozen):
    """One field of what a key stands for."""

    field: str = Field(description="With dots between, as `model.hidden_size`.")
    value: JsonValue
    is_hashed: bool = Field(
        description="Whether the key is made of it. A name is not; a field at its default is left "
        "out, so that a new one never changes old keys."
    )


class FingerprintReport(Frozen):
    """A key and everything it stands for."""

    key: str
    kind: FingerprintKind
    version: str = Field(description="Of the way the key is made: what stands before the colon.")
    fields: tuple[FingerprintField, ...]


def find(session: Session, key: str) -> FingerprintReport:
    """NotFoundError for a key that nothing measured or seen here has."""
    spec = stored.spec(session, key)
    if spec is not None:
        return _report(key, FingerprintKind.SPEC, spec)
    hardware = stored.hardware(session, key)
    if hardware is not None:
        return _report(key, FingerprintKind.HARDWARE, hardware)
    raise NotFoundError(
        f"nothing here has the key {key!r}; results and nodes show their spec_key (p1:…) and "
        "hardware_key (h1:…)"
    )


def _report(key: str, kind: FingerprintKind, facts: Measurable | Hardware) -> FingerprintReport:
    everything = dict(flat(facts.model_dump(mode="json")))
    hashed = dict(flat(facts.identity))
    return FingerprintReport(
        key=key,
        kind=kind,
        version=key.partition(":")[0],
        fields=tuple(
            FingerprintField(field=field, value=value, is_hashed=field in hashed)
            for field, value in (everything | hashed).items()
        ),
    )


def flat(document: dict[str, JsonValue], *, prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Give the leaves of a document with their paths."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, prefix=f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
