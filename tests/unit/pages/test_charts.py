"""Charts are functions from numbers to drawings: every figure is in them, and nothing else."""

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from service.pages.charts import scale
from service.pages.charts.bars import BAR, Bar, stacked_bars
from service.pages.charts.heat_map import Cell, heat_map
from service.pages.charts.lines import Line, Mark, Spot, line_chart
from service.pages.charts.ratios import WIDTH, Effect, ratio_plot
from service.pages.charts.samples import bins, histogram, order
from service.pages.charts.scale import Scale

HOSTILE = '"><script>alert(1)</script>'
POSITIVE = st.floats(min_value=1e-3, max_value=1e9)


def _lines(*spots: Spot, marks: tuple[Mark, ...] = (), name: str = "compute") -> Markup:
    return line_chart(
        [Line(name, spots)],
        x_title="batch",
        y_title="time",
        y_text=lambda value: f"{value:g}",
        label=name,
        marks=marks,
    )


def _parsed(drawn: Markup) -> ET.Element:
    return ET.fromstring(drawn)  # noqa: S314 - our own


def _map(cells: dict[tuple[int, int], Cell]) -> Markup:
    return heat_map([1, 2], [8, 64], cells, row_title="tp", column_title="batch", label="map")


CHARTS: list[Callable[[str], Markup]] = [
    lambda text: _map({(1, 8): Cell(text, "heat-0", text, f"/points/{text}")}),
    lambda text: stacked_bars([text], [Bar(text, (1.0,), text)], label=text),
    lambda text: _lines(Spot(1, 1), Spot(2, 2), name=text, marks=(Mark(text, 1.5, 1.2, 1.8),)),
]


@pytest.mark.parametrize("chart", CHARTS)
def test_text_of_others_stays_text(chart: Callable[[str], Markup]) -> None:
    drawn = chart(HOSTILE)
    assert "<script" not in drawn
    assert HOSTILE in "".join(_parsed(drawn).itertext())


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_has_a_text_equivalent_and_no_style_of_its_own(
    chart: Callable[[str], Markup],
) -> None:
    root = _parsed(chart("compute"))
    assert root.get("aria-label")
    assert root.get("role") in {"img", "group"}
    assert all("style" not in element.attrib for element in root.iter())


def test_every_cell_leads_to_its_point_and_a_missing_one_is_drawn_as_such() -> None:
    root = _parsed(_map({(2, 64): Cell("1 ms", "heat-3", "tp 2", "/points/a")}))
    links = [element.get("href") for element in root.iter("a")]
    assert links == ["/points/a"]
    classes = [element.get("class") for element in root.iter("g")]
    assert classes.count("cell none") == 3


@given(shares=st.lists(st.floats(min_value=0, max_value=1), min_size=3, max_size=3))
def test_parts_of_a_bar_fill_it(shares: list[float]) -> None:
    if sum(shares) < 0.01:
        return
    drawn = stacked_bars("abc", [Bar("64", (shares[0], shares[1], shares[2]), "1 ms")], label="x")
    groups = list(_parsed(drawn).iter("g"))
    widths = [float(one.find("rect").get("width", "")) for one in groups]  # type: ignore[union-attr]
    assert sum(widths) == pytest.approx(BAR, abs=0.2)


@given(values=st.lists(POSITIVE, min_size=2, max_size=30))
def test_larger_is_never_a_lower_step_of_colour(values: list[float]) -> None:
    steps = scale.levels(values, is_log=True)
    pairs = sorted(zip(values, steps, strict=True))
    assert [step for _, step in pairs] == sorted(steps)
    assert {min(steps), max(steps)} <= {0, 4, 8}


def test_a_ratio_of_one_is_in_the_middle_and_inverse_ratios_mirror() -> None:
    assert scale.diverging(1) == scale.MIDDLE
    for ratio in (1.3, 2.0, 4.0, 100.0):
        assert scale.diverging(ratio) + scale.diverging(1 / ratio) == 2 * scale.MIDDLE


@given(low=POSITIVE, factor=st.floats(min_value=1.01, max_value=1e6), is_log=st.booleans())
def test_ticks_are_few_and_on_the_axis(low: float, factor: float, *, is_log: bool) -> None:
    axis = Scale(low, low * factor, 0, 100, is_log=is_log)
    ticks = axis.ticks(5)
    assert len(ticks) <= 6
    for one in ticks:
        assert low * 0.998 <= one <= low * factor * 1.002


def test_the_band_covers_the_interval_and_an_open_end_reaches_the_edge() -> None:
    spots = [Spot(2.0**power, 10.0) for power in range(11)]

    def band(mark: Mark) -> tuple[float, float]:
        root = _parsed(_lines(*spots, marks=(mark,)))
        (rect,) = [one for one in root.iter("rect") if one.get("class") == "band"]
        start = float(rect.get("x", ""))
        return start, start + float(rect.get("width", ""))

    closed, opened = band(Mark("x", 32, 16, 64)), band(Mark("x", 32, 16, None))
    assert closed[0] == opened[0]
    assert closed[1] < opened[1]


def test_a_figure_at_or_below_zero_is_marked_as_off_the_axis() -> None:
    drawn = _lines(Spot(1, -3.0), Spot(2, 5.0))
    assert re.findall(r'class="spot( empty)?"', drawn)[0] == " empty"


def test_a_chart_of_nothing_is_an_empty_drawing() -> None:
    assert "<path" not in _lines()
    assert "<path" not in _lines(Spot(1, -1.0))


def test_ratios_lie_on_their_side_of_one_and_off_the_axis_at_its_end() -> None:
    effects = [
        Effect("slow", 2.0, 1.9, 2.1, "slower"),
        Effect("fast", 0.5, 0.4, 0.6, "faster"),
        Effect("wild", 1e6, None, None, "slower"),
    ]
    root = _parsed(ratio_plot(effects, tolerance=0.02, label="ratios"))
    places = [float(one.get("cx", "")) for one in root.iter("circle")]
    (one,) = [float(text.get("x", "")) for text in root.iter("text") if text.text == "1.00"]
    assert places[1] < one < places[0] < places[2] <= WIDTH


@given(values=st.lists(POSITIVE, min_size=1, max_size=400))
def test_every_step_is_in_one_bar(values: list[float]) -> None:
    ordered = sorted(values)
    counts = bins(ordered, low=ordered[0], high=ordered[-1])
    assert sum(counts) == len(values)


def test_steps_in_order_are_all_drawn_or_evenly_thinned() -> None:
    few = order([[1.0, 2.0], [3.0]], str, label="order")
    assert few.count("h.01") == 3
    many = order([[float(one % 7 + 1) for one in range(10_000)]], str, label="order")
    assert 1000 < many.count("h.01") <= 2000
    assert "path" not in order([], str, label="order")
    assert "rect" not in histogram([], str, label="none")
