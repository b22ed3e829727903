"""Results of one grid as charts: a heat map of a metric, what steps are made of, break-evens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from markupsafe import Markup

from service.figures import digits
from service.pages import figures
from service.pages.charts import scale
from service.pages.charts.bars import Bar, stacked_bars
from service.pages.charts.heat_map import Cell, heat_map
from service.pages.charts.lines import Line, Mark, Spot, line_chart
from service.reports.breakeven import BreakEvenReport, CrossingReport
from service.reports.estimates import EstimateReport
from service.reports.result import ResultReport
from service.reports.sweeps import PointReport
from workers.contract.axes import Pass
from workers.contract.point import PointSpec

Place = tuple[int, int]
"""tp_degree and batch."""
PARTS: Final = ("compute", "exposed comm.", "of it wait")
MOST_BARS: Final = 40


class Metric(StrEnum):
    """What the heat map shows."""

    STEP_TIME = "step_time"
    SPEED_UP = "speed_up"
    COMMUNICATION_SHARE = "communication_share"
    TFLOP_PER_S = "tflop_per_s"

    @property
    def caption(self) -> str:
        """In words."""
        return {
            Metric.STEP_TIME: "step time",
            Metric.SPEED_UP: "speed-up over tp_degree 1",
            Metric.COMMUNICATION_SHARE: "communication share",
            Metric.TFLOP_PER_S: "TFLOP/s of one device",
        }[self]


@dataclass(frozen=True, slots=True)
class Grid:
    """Results and points of one facet, by their place."""

    results: Mapping[Place, ResultReport]
    points: Mapping[Place, PointReport]
    """Points without a result."""

    @property
    def degrees(self) -> list[int]:
        """Rows."""
        return sorted({degree for degree, _ in (*self.results, *self.points)})

    @property
    def batches(self) -> list[int]:
        """Columns."""
        return sorted({batch for _, batch in (*self.results, *self.points)})

    def speed_up(self, place: Place) -> float | None:
        """Step time at tp_degree 1 over that here; None where there is no such twin."""
        result, single = self.results[place], self.results.get((1, place[1]))
        if single is None or result.idle is not None:
            return None
        return single.step_time_us.median / result.step_time_us.median


def place_of(spec_of: ResultReport | PointReport) -> Place:
    """Where it stands in its grid."""
    spec = block_of(spec_of)
    return spec.tp_degree, spec.batch


def block_of(spec_of: ResultReport | PointReport) -> PointSpec:
    """What a point of a grid is of: a block, always."""
    if not isinstance(spec_of.spec, PointSpec):
        raise TypeError(f"{spec_of.id} is a probe, which no grid has")
    return spec_of.spec


def heat(grid: Grid, metric: Metric) -> Markup:
    """The grid coloured by a metric; each cell leads to its point."""
    values = {place: _value(grid, place, metric) for place in grid.results}
    known = {place: value for place, value in values.items() if value is not None}
    is_log = metric in {Metric.STEP_TIME, Metric.TFLOP_PER_S}
    steps = dict(zip(known, scale.levels(list(known.values()), is_log=is_log), strict=True))
    cells = {place: _waiting(point) for place, point in grid.points.items()}
    for place, result in grid.results.items():
        value = known.get(place)
        colour, text = "none", figures.NONE
        if value is not None:
            text = _text(value, metric)
            colour = f"heat-{steps[place]}"
            if metric is Metric.SPEED_UP:
                colour = f"diverging-{scale.diverging(value)}"
        label = f"tp_degree {place[0]}, batch {place[1]:,}: {metric.caption} {text}"
        if result.quality:
            label += f"; {', '.join(result.quality)}"
        cells[place] = Cell(text, colour, label, f"/points/{result.id}")
    return heat_map(
        grid.degrees,
        grid.batches,
        cells,
        row_title="tp_degree",
        column_title="batch",
        label=f"{metric.caption} for each tp_degree and batch; the table below has every figure",
    )


def parts(grid: Grid) -> list[tuple[int, Markup]]:
    """What each step is made of, by tp_degree; with one rank it is all compute."""
    charts = []
    for degree in grid.degrees:
        places = sorted(place for place in grid.results if place[0] == degree > 1)[:MOST_BARS]
        bars = [_bar(place[1], grid.results[place]) for place in places]
        if bars:
            said = "; ".join(f"batch {bar.name}: compute {bar.shares[0]:.0%}" for bar in bars)
            label = f"Shares of the step at tp_degree {degree}. {said}"
            charts.append((degree, stacked_bars(PARTS, bars, label=label)))
    return charts


def _bar(batch: int, result: ResultReport) -> Bar:
    whole = figures.time_us(result.step_time_us.median)
    return Bar(f"{batch:,}", _shares(result), whole)


def break_even(report: BreakEvenReport, results: Mapping[Place, ResultReport]) -> Markup:
    """Compute and exposed communication over the batch, and where they cross."""
    compute, exposed = [], []
    for point in report.curve:
        found = results.get((report.tp_degree, point.batch))
        known = None if found is None else found.estimates
        within = (
            (None, None)
            if known is None
            else (known.compute_time_us, known.exposed_communication_us)
        )
        compute.append(_spot(point.batch, point.compute_time_us, within[0]))
        exposed.append(_spot(point.batch, point.exposed_communication_us, within[1]))
    return line_chart(
        [Line("compute", tuple(compute)), Line("exposed communication", tuple(exposed))],
        x_title="batch",
        y_title="time of a step",
        y_text=figures.time_us,
        label=report.sentence,
        marks=_marks(report.compute_overtakes),
    )


def _marks(crossing: CrossingReport) -> tuple[Mark, ...]:
    if crossing.batch is None:
        return ()
    low, high = crossing.ci_low, crossing.ci_high
    name = f"break-even at batch {digits(crossing.batch)}"
    if low is not None and high is not None:
        name += f" (95 % interval {digits(low)} to {digits(high)})"
    return (Mark(name, crossing.batch, low, high, has_interval=crossing.n > 1),)


def _spot(batch: int, y: float, known: EstimateReport | None) -> Spot:
    if known is None:
        return Spot(float(batch), y)
    return Spot(float(batch), y, known.ci_low, known.ci_high)


def _shares(result: ResultReport) -> tuple[float, ...]:
    """Compute, exposed communication without wait, wait; what is below 0 is drawn as 0."""
    step = result.step_time_us.median
    exposed = max(0.0, result.exposed_communication_us / step)
    wait_us = sum(
        one.wait_us * one.count_per_step for one in result.collectives if one.timed_in is Pass.SPLIT
    )
    wait = min(exposed, wait_us / step)
    return 1 - exposed, exposed - wait, wait


def _value(grid: Grid, place: Place, metric: Metric) -> float | None:
    result = grid.results[place]
    match metric:
        case Metric.STEP_TIME:
            return result.step_time_us.median
        case Metric.SPEED_UP:
            return grid.speed_up(place)
        case Metric.COMMUNICATION_SHARE:
            return result.communication_share
        case Metric.TFLOP_PER_S:
            return result.tflop_per_s
        case _:
            assert_never(metric)


def _text(value: float, metric: Metric) -> str:
    match metric:
        case Metric.STEP_TIME:
            return figures.time_us(value)
        case Metric.SPEED_UP:
            return f"{value:.2f}x"
        case Metric.COMMUNICATION_SHARE:
            return figures.percent(value)
        case Metric.TFLOP_PER_S:
            return digits(value)
        case _:
            assert_never(metric)


def _waiting(point: PointReport) -> Cell:
    degree, batch = place_of(point)
    said = f"tp_degree {degree}, batch {batch:,}: {point.state}"
    if point.error is not None:
        said += f", {point.error.code}: {point.error.message}"
    if point.rejection is not None:
        said += f", {point.rejection.reason}"
    return Cell(str(point.state), f"state {point.state}", said)


def grid_of(results: Sequence[ResultReport], points: Sequence[PointReport]) -> Grid:
    """Put them in their places. Of a pair of the same point twice, the first is shown."""
    by_place: dict[Place, ResultReport] = {}
    for result in results:
        by_place.setdefault(place_of(result), result)
    others = {place_of(point): point for point in points if place_of(point) not in by_place}
    return Grid(by_place, others)
