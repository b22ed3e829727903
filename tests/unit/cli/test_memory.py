import json
from pathlib import Path

import pytest

from service.api.answers import answers
from service.cli.exits import ExitCode
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

MEMORY = "POST /v1/memory"


@pytest.fixture
def answered(fake: FakeServer) -> FakeServer:
    fake.on(MEMORY, Reply(answers()["plan_memory"].model_dump(mode="json")))
    return fake


def test_memory_shows_a_line_for_each_combination(answered: FakeServer, run: Run) -> None:
    outcome = run("memory", "llama-2-70b", "--tp", "2,8", "--zero", "0,1,3", "--device-gb", "80")
    assert outcome.code == ExitCode.OK
    assert "llama-2-70b, 68.98e9 parameters, train, bfloat16_mixed" in outcome.out
    sent = json.loads(answered.received[0].body)
    assert (sent["model"], sent["tp_degree"], sent["zero_stage"]) == (
        "llama-2-70b",
        [2, 8],
        [0, 1, 3],
    )
    assert outcome.out.count("no") == 4
    assert outcome.out.count("yes") == 2


def test_a_file_is_sent_as_the_model_it_describes(
    answered: FakeServer, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}')
    assert run("memory", str(path), "--json").code == ExitCode.OK
    assert json.loads(answered.received[0].body)["model"] == {"model_type": "llama"}


@pytest.mark.parametrize("command", [("memory",), ("advise", "--model")], ids=str)
@pytest.mark.parametrize(
    "text", ['{"model_type": "llama"}', json.dumps({"a": "x" * 5000})], ids=len
)
def test_a_model_that_is_json_itself_is_a_usage_error(
    answered: FakeServer, run: Run, command: tuple[str, ...], text: str
) -> None:
    outcome = run(*command, text)
    assert outcome.code == ExitCode.USAGE
    assert "give the name of a file that holds it" in outcome.err
    assert answered.received == []


def test_a_name_that_no_file_can_have_is_a_usage_error(answered: FakeServer, run: Run) -> None:
    outcome = run("advise", "--model", "x" * 5000)
    assert (outcome.code, "xxx" in outcome.err) == (ExitCode.USAGE, True)
    assert answered.received == []


def test_nothing_that_fits_is_a_no(fake: FakeServer, run: Run) -> None:
    body = answers()["plan_memory"].model_dump(mode="json")
    body["plans"] = body["plans"][:1]
    fake.on(MEMORY, Reply(body))
    assert run("memory", "llama-2-70b", "--device-gb", "80").code == ExitCode.NEGATIVE


def test_degrees_that_are_no_numbers_are_a_usage_error(answered: FakeServer, run: Run) -> None:
    outcome = run("memory", "gpt2", "--tp", "1,two")
    assert outcome.code == ExitCode.USAGE
    assert "--tp='1,two'" in outcome.err
    assert answered.received == []
