from datetime import datetime

from service.cli.wire.base import Wire


class ControlNight(Wire):
    """One sweep of points measured by turns with themselves."""

    sweep_id: str
    created_at: datetime
    num_pairs: int = 0
    num_alarms: int = 0
    largest_change: float = 0


class SelfCheck(Wire):
    """What the instrument says where nothing differs."""

    is_kept: bool | None = None
    is_one_sided: bool | None = None
    nights: tuple[ControlNight, ...] = ()
    sentence: str = ""
