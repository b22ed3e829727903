from datetime import datetime

from service.cli.wire.base import Wire


class NodeStanding(Wire):
    """One node against its peers."""

    node: str
    newest_score: float | None = None
    newest_link_score: float | None = None
    noise_grade: str | None = None
    stands_out: bool = False
    link_stands_out: bool = False
    is_flaky: bool = False
    missing_since: datetime | None = None
    scores: tuple[float | None, ...] = ()


class FleetHardware(Wire):
    """What the nodes are."""

    accelerator: str


class Fleet(Wire):
    """Nodes of one hardware as one schedule's nights show them."""

    policy: str
    hardware_key: str
    hardware: FleetHardware | None = None
    basis: str
    nodes: tuple[NodeStanding, ...] = ()
    sentence: str = ""
