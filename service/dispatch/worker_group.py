from collections.abc import Sequence
from typing import Protocol

from workers.contract.group_events import GroupEvent
from workers.contract.trial import TrialOrder


class WorkerGroup(Protocol):
    """What a station needs of a group; `workers.ray_group` is one. Nothing here waits."""

    @property
    def group_id(self) -> str:
        """Unique."""

    @property
    def is_ready(self) -> bool:
        """Whether it waits for an order."""

    def submit(self, order: TrialOrder) -> None:
        """Measure."""

    def regroup(self, degrees: tuple[int, ...]) -> None:
        """Form anew in the same processes."""

    def end(self) -> None:
        """Kill it."""

    def poll(self) -> Sequence[GroupEvent]:
        """What has happened."""
