from datetime import datetime

from service.cli.wire.base import Wire


class NodeHardware(Wire):
    """What a machine has to measure on."""

    accelerator: str
    num_devices: int


class Node(Wire):
    """A machine as its dispatcher last saw it."""

    name: str
    hardware: NodeHardware
    num_slots: int
    pool: str
    last_seen_at: datetime
