"""How the command line names points and shows what is known of one."""

import json
from itertools import combinations

import pytest

from service.api.answers import answers
from service.cli.exits import ExitCode
from service.cli.wire.spec import Spec
from tests.unit.cli.answers import SWEEP_ID, page, result, spec, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply
from workers.contract.sweep import AXES, SweepSpec

OTHER_VALUES = {
    "block": "attention",
    "arrangement": "row_row",
    "phase": "decode",
    "tp_degree": 2,
    "batch": 8,
    "seq": 2,
    "dtype": "bfloat16",
    "collective_impl": "shared_memory",
    "overlap": "chunked",
    "launch": "cuda_graph",
    "model": {"name": "gpt2", "hidden_size": 768},
}
"""One for each axis, of which none is usual."""


def test_a_label_tells_any_two_points_of_a_grid_apart() -> None:
    assert {axis.removesuffix("s") for axis in AXES} == set(OTHER_VALUES), "a new axis is named too"
    documents = [spec(), *(spec() | {axis: value} for axis, value in OTHER_VALUES.items())]
    labels = [Spec.model_validate(one).label for one in documents]
    assert not [pair for pair in combinations(labels, 2) if pair[0] == pair[1]]


def test_the_usual_way_to_run_a_point_goes_without_saying() -> None:
    default = SweepSpec.model_validate(
        {"models": "pythia-31m", "blocks": "mlp", "tp_degree": 1, "batch": 4}
    )
    (point,) = default.combinations()
    document = Spec.model_validate(point.model_dump(mode="json"))
    assert document.label == "pythia-31m mlp train tp 1 batch 4"


@pytest.mark.parametrize("axis", sorted(OTHER_VALUES.keys() - {"tp_degree", "batch"}))
def test_results_that_differ_in_an_axis_stand_in_tables_of_their_own(
    fake: FakeServer, run: Run, axis: str
) -> None:
    other = spec() | {axis: OTHER_VALUES[axis]}
    fake.on("GET /v1/results", Reply(page(result(), result(spec=other))))
    out = run("results").out
    assert out.count("collectives") == 2


def test_one_result_is_shown_with_all_that_is_known_of_it(fake: FakeServer, run: Run) -> None:
    whole = answers()["get_result"].model_dump(mode="json")
    fake.on("GET /v1/results", Reply(page(whole)))
    fake.on(f"GET /v1/results/{whole['id']}", Reply(whole))
    outcome = run("results", "--details", "--overlap", "none")
    assert outcome.code == ExitCode.OK
    assert fake.received[0].query["overlap"] == ["none"]
    for shown in (
        whole["id"],
        *(trial["id"] for trial in whole["trials"]),
        *(trial["stop_rule"] for trial in whole["trials"]),
        *(item["where"] for item in whole["collectives"]),
        f"grade {whole['control']['noise_grade']}",
        "host normalised",
        *whole["quality_notes"],
    ):
        assert shown in outcome.out
    assert json.loads(run("results", "--details", "--json").out) == [whole]


def test_ids_are_whole_on_a_narrow_terminal(
    fake: FakeServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    fake.on("GET /v1/sweeps", Reply(page(sweep("succeeded", name="a name " * 20))))
    out = run("sweeps").out
    assert SWEEP_ID in out
    assert "succeeded" in out
    assert "a name" in out


def test_arrangements_keep_their_names_on_a_narrow_terminal(
    fake: FakeServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    body = answers()["compare_arrangements"].model_dump(mode="json")
    fake.on("GET /v1/arrangements", Reply(body))
    out = run("arrangements", SWEEP_ID).out
    for block in body["items"]:
        for one in block["arrangements"]:
            name = one["cost"]["arrangement"]
            assert any(line.split()[:1] == [name] for line in out.splitlines())
            assert f"{name}: {one['why']}" in out


def test_what_is_rejected_for_one_reason_is_said_once(
    fake: FakeServer, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("sweep") / "sweep.json"
    path.write_text("{}")
    rejected = [
        {"spec": spec(batch=batch), "field": "overlap", "value": "chunked", "reason": reason}
        for batch, reason in ((1, "odd"), (3, "odd"), (2, "too long"))
    ]
    fake.on("POST /v1/sweeps/preview", Reply({"num_points": 1, "rejected": rejected}))
    lines = run("preview", str(path)).out.splitlines()
    assert "  pythia-31m mlp train tp 1 batch 1 and 1 more: odd" in lines
    assert "  pythia-31m mlp train tp 1 batch 2: too long" in lines
