"""From what Ray reserved to what a rank selects. Pure.

Ray names a reserved GPU as its raylet saw it: a number, a UUID or a MIG id, taken from the host's
own CUDA_VISIBLE_DEVICES where that is set. torch counts positions in that list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.contract.errors import DeviceMismatchError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    """The device of one rank."""

    index: int
    """Position among the devices the process sees; for a CPU the core."""
    physical_index: int | None = None
    """Number on the host (PCI order), where Ray named it by number."""
    uuid: str = ""
    """GPU-… or MIG-…, where Ray named it so."""
    mask: str | None = None
    """CUDA_VISIBLE_DEVICES to set first: a process sees no more than one MIG instance anyway."""


def choose_gpu(reserved_id: str, *, visible: str | None) -> DeviceChoice:
    """Map the id Ray reserved through the host's CUDA_VISIBLE_DEVICES (None where not set)."""
    if reserved_id.startswith("MIG-"):
        return DeviceChoice(index=0, uuid=reserved_id, mask=reserved_id)
    if visible is None:
        return _by_number(reserved_id, position=int(reserved_id))
    names = [name.strip() for name in visible.split(",")]
    if reserved_id not in names:
        msg = f"Ray reserved GPU {reserved_id!r}, but the host shows only {visible!r}"
        raise DeviceMismatchError(msg)
    if reserved_id.isdigit():
        return _by_number(reserved_id, position=names.index(reserved_id))
    return DeviceChoice(index=names.index(reserved_id), uuid=reserved_id)


def choose_core(rank: int, *, usable_cores: Sequence[int]) -> DeviceChoice:
    """Deal ranks round the cores that the process may run on."""
    return DeviceChoice(index=usable_cores[rank % len(usable_cores)])


def rank_order(reserved_ids: Sequence[str], *, hosts: Sequence[int]) -> tuple[int, ...]:
    """Positions of the actors in rank order: by host, then by lowest device.

    So neighbours are neighbours. Numbers come in order of size; names (UUIDs) have no order of
    their own and sort as text.
    """

    def key(position: int) -> tuple[int, bool, int, str]:
        name = reserved_ids[position]
        number = int(name) if name.isdigit() else 0
        return hosts[position], not name.isdigit(), number, name

    return tuple(sorted(range(len(reserved_ids)), key=key))


def _by_number(reserved_id: str, *, position: int) -> DeviceChoice:
    return DeviceChoice(index=position, physical_index=int(reserved_id))
