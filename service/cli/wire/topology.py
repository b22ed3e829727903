from service.cli.wire.base import Wire


class DegreeSets(Wire):
    """Which GPUs a tp_degree should take."""

    tp_degree: int
    worst_link: str
    passes: str
    sets: tuple[tuple[int, ...], ...]


class TopologyReport(Wire):
    """How the GPUs of a machine are connected."""

    num_gpus: int
    fabric: str
    tp_degrees: tuple[DegreeSets, ...]
    warnings: tuple[str, ...] = ()
