import json

import pytest

from service.cli.exits import ExitCode
from tests.unit.cli.answers import page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

RECOMMEND, RANGES = "GET /v1/recommendation", "GET /v1/recommendation/ranges"


def answer(*, batch: int = 1, hardware: str = "H100 SXM", tp_degree: int | None = 2) -> object:
    candidate = {
        "tp_degree": 2,
        "needed_bytes": 76_000_000_000,
        "basis": "predicted",
        "step_time_us": 120.5,
        "communication_share": 0.12,
        "reason": "the smallest degree that divides and fits",
    }
    return {
        "hardware": hardware,
        "batch": batch,
        "tp_degree": tp_degree,
        "basis": "predicted",
        "candidates": [candidate],
        "sentence": "llama-2-70b decode on H100 SXM: tp_degree 2",
    }


def test_one_answer_is_shown_with_every_degree_and_why(fake: FakeServer, run: Run) -> None:
    fake.on(RECOMMEND, Reply(page(answer())))
    outcome = run("recommend", "llama-2-70b", "--hardware", "H100 SXM")
    assert outcome.code == ExitCode.OK
    assert "llama-2-70b decode on H100 SXM: tp_degree 2" in outcome.out
    for shown in ("76.0", "120 us", "12%", "predicted", "the smallest degree that"):
        assert shown in outcome.out
    assert fake.received[0].query["hardware"] == ["H100 SXM"]


def test_several_batches_and_places_make_a_table(fake: FakeServer, run: Run) -> None:
    fake.on(
        RECOMMEND,
        Reply(page(answer(batch=1), answer(batch=8, hardware="L40S", tp_degree=None))),
    )
    outcome = run("recommend", "llama-2-70b", "--batch", "1,8")
    assert outcome.code == ExitCode.OK
    assert "2 predicted" in outcome.out
    assert "none" in outcome.out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_possible_is_a_no(fake: FakeServer, run: Run, options: tuple[str, ...]) -> None:
    fake.on(RECOMMEND, Reply(page(answer(tp_degree=None))))
    outcome = run("recommend", "llama-2-70b", *options)
    assert outcome.code == ExitCode.NEGATIVE
    assert outcome.out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_without_a_model_all_presets_are_shown(
    fake: FakeServer, run: Run, options: tuple[str, ...]
) -> None:
    line = {
        "model": "llama-2-7b",
        "num_parameters": 6_738_415_616,
        "hardware": "L40S",
        "link": "PCIe 4.0 x16",
        "smallest": 1,
        "largest": 2,
        "throughput": 1,
    }
    fake.on(RANGES, Reply(page(line)))
    outcome = run("recommend", *options)
    assert outcome.code == ExitCode.OK
    if options:
        assert json.loads(outcome.out)["items"] == [line]
    else:
        assert "PCIe 4.0 x16" in outcome.out
