from datetime import datetime

from service.cli.wire.base import Wire
from service.cli.wire.spec import Spec


class Progress(Wire):
    """Trials that are over, of all."""

    num_trials: int
    num_done: int
    eta_s: float | None = None


class Sweep(Wire):
    """A sweep and how far it is."""

    id: str
    name: str = ""
    state: str
    created_at: datetime
    created_by: str = ""
    num_points: int
    num_rejected: int = 0
    trial_counts: dict[str, int]
    progress: Progress

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is queued or running."""
        return self.state not in ("queued", "running")


class Rejection(Wire):
    """A combination that cannot be measured."""

    spec: Spec
    field: str
    value: int | str
    reason: str
    valid_tp_degrees: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """Which one, why, and what would work."""
        return f"{self.spec.label}: {self.explanation}"

    @property
    def explanation(self) -> str:
        """Why, and which tp_degrees would work."""
        works = ", ".join(map(str, self.valid_tp_degrees))
        return self.reason + (f" (works: tp_degree {works})" if works else "")


class Preview(Wire):
    """What a sweep would measure."""

    num_points: int
    points: tuple[Spec, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    estimated_s: float | None = None


class PointError(Wire):
    """Why a point failed."""

    code: str
    message: str
    rank: int | None = None
    node: str = ""
    log_tail: str = ""

    @property
    def label(self) -> str:
        """What happened, and on which rank and node."""
        where = f" on rank {self.rank}" if self.rank is not None else ""
        return f"{self.code}{where}" + (f" of {self.node}" if self.node else "")


class Point(Wire):
    """A point of a sweep and its state."""

    spec: Spec
    state: str
    error: PointError | None = None
    rejection: Rejection | None = None
