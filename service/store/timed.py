"""What trials took, thousands of them at once: the few columns of results that are compared."""

from dataclasses import dataclass
from itertools import starmap

from sqlalchemy.orm import Session

from service.analysis.control import ControlSummary
from service.analysis.summary import share_of_communication
from service.store import result_rows
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial
from workers.contract.axes import GroupKind
from workers.contract.hardware import Environment, Hardware
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """Of a `MeasuredTrial` what its other documents are not needed for; the same values."""

    id: str
    """Of the trial."""
    point_id: str
    sweep_id: str
    replicate: int
    group_kind: GroupKind
    spec: PointSpec
    spec_key: str
    hardware_key: str
    hardware: Hardware
    link_class: str
    node: str
    step_time_us: float
    compute_time_us: float
    control: ControlSummary | None
    environment: Environment
    quality: tuple[str, ...]

    @property
    def exposed_communication_us(self) -> float:
        """Step minus compute, as a summary has it."""
        return self.step_time_us - self.compute_time_us

    @property
    def communication_share(self) -> float:
        """Exposed communication over the step."""
        return share_of_communication(step_us=self.step_time_us, compute_us=self.compute_time_us)


_COLUMNS: result_rows.Columns = (
    ResultRow.trial_id,
    ResultRow.point_id,
    ResultRow.sweep_id,
    ResultRow.replicate,
    ResultRow.group_kind,
    PointRow.spec,
    ResultRow.spec_key,
    ResultRow.hardware_key,
    HardwareRow.facts,
    ResultRow.link_class,
    ResultRow.node,
    ResultRow.step_time_us,
    ResultRow.compute_time_us,
    ResultRow.control,
    ResultRow.environment,
    ResultRow.quality,
)
"""In the order of a trial's fields: see `service.store.results`."""

Timed = TimedTrial | MeasuredTrial
"""Whatever has a step time, and what it was measured with."""


def timed(session: Session, which: ResultFilter, *, newest: int | None = None) -> list[TimedTrial]:
    """The trials that `results.measured` finds, in its order."""
    rows = result_rows.found(session, _COLUMNS, which, newest=newest)
    return list(starmap(TimedTrial, rows))
