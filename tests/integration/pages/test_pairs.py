"""Pages of sweeps whose points take turns."""

import pytest

from service.store.engine import Sessions
from tests.integration.pages.conftest import Browser
from tests.integration.pages.test_sweeps import make


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("collective_impl", ("auto", "shared_memory")),
        ("collective_impl", ("shared_memory", "backend")),
        ("overlap", ("none", "backward")),
        ("arrangement", ("column_row", "sequence_parallel")),
        ("dtype", ("float32", "bfloat16")),
        ("same", ()),
    ],
)
def test_each_value_of_a_pair_has_its_grid(
    axis: str, values: tuple[str, ...], browser: Browser, sessions: Sessions
) -> None:
    """Whatever its name was when it was asked for: a point knows no `auto`."""
    pair = {"axis": axis, "values": values}
    sweep_id = make(sessions, pair=pair, tp_degree=[2], batch=[2, 64], phase=["train"])
    assert browser.get(f"/sweeps/{sweep_id}").status_code == 200
    for value in values:
        chosen = "backend" if value == "auto" else value
        answer = browser.get(f"/sweeps/{sweep_id}?{axis}={chosen}")
        assert answer.status_code == 200
        assert f"<option selected>{chosen}</option>" in answer.text
