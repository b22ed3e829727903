"""What steps of the second points of pairs took over the first's, turn by turn."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import starmap

from sqlalchemy.orm import Session

from service.analysis.summary import TrialSummary
from service.store import result_rows
from service.store.models.result import ResultRow
from service.store.result_filter import ResultFilter


@dataclass(frozen=True, slots=True)
class _Told:
    trial_id: str
    point_id: str
    summary: TrialSummary


_COLUMNS: result_rows.Columns = (ResultRow.trial_id, ResultRow.point_id, ResultRow.summary)


def step_ratios(session: Session, sweep_ids: Collection[str]) -> dict[tuple[str, str], float]:
    """By trial and second point; of what was stored without its turns there is none."""
    which = ResultFilter(sweep_ids=tuple(sweep_ids))
    told = starmap(_Told, result_rows.found(session, _COLUMNS, which))
    return {
        (one.trial_id, one.point_id): one.summary.turns.step_time
        for one in told
        if one.summary.turns is not None
    }
