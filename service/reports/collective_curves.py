"""Times of collectives over message size, as the cost model takes them: from curves and steps."""

from collections.abc import Iterable, Sequence

from service.analysis.costmodel.collectives import FEWEST_RANKS, CollectiveCurve
from service.analysis.costmodel.curve import FEWEST_POINTS, TimeCurve
from service.analysis.nccl_tests.table import Table
from service.store.curves import Curve, Origin
from service.store.results import MeasuredTrial
from workers.contract.axes import Collective


def from_trials(trials: Iterable[MeasuredTrial]) -> list[CollectiveCurve]:
    """Of the collectives inside measured steps, over all their sizes."""
    points: dict[tuple[Collective, int], list[tuple[float, float]]] = {}
    for trial in trials:
        for one in trial.summary.collectives:
            key = (one.op, trial.spec.tp_degree)
            if one.time_us > 0:
                points.setdefault(key, []).append((float(one.message_bytes), one.time_us))
    return _curves(points, "collectives inside measured points", preference=1)


def from_curves(several: Sequence[Curve], *, preference: int) -> list[CollectiveCurve]:
    """As torch calls them: an all-reduce works in place, the others do not.

    A curve that has the other placement alone is taken as it is. Left out is what is no collective
    of a step, and what one rank ran alone.
    """
    found = []
    for curve in several:
        table = curve.table
        is_known = table.operation.value in {one.value for one in Collective}
        if not is_known or table.num_ranks < FEWEST_RANKS:
            continue
        op = Collective(table.operation)
        by = "nccl-tests" if curve.origin is Origin.IMPORTED else "calibration"
        origin = f"{by}, {curve.source or curve.id}"
        points = {(op, table.num_ranks): _points(table, op)}
        found += _curves(points, origin, preference=preference)
    return found


def _points(table: Table, op: Collective) -> list[tuple[float, float]]:
    in_place = [(float(row.message_bytes), time) for row in table.rows if (time := row.in_place_us)]
    out_of_place = [
        (float(row.message_bytes), time) for row in table.rows if (time := row.out_of_place_us)
    ]
    if op is Collective.ALL_REDUCE:
        return in_place or out_of_place
    return out_of_place or in_place


def _curves(
    points: dict[tuple[Collective, int], list[tuple[float, float]]],
    origin: str,
    *,
    preference: int,
) -> list[CollectiveCurve]:
    return [
        CollectiveCurve(op, num_ranks, TimeCurve.of(several, calibration=origin), preference)
        for (op, num_ranks), several in points.items()
        if len({size for size, _ in several}) >= FEWEST_POINTS
    ]
