"""`python -m workers` over groups that do not form, and over what is no sweep."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.dispatch.builders import GPU, node
from tests.unit.workers.builders import TINY, rank_result
from workers import __main__ as command
from workers.contract.axes import GroupKind
from workers.contract.errors import RankLostError
from workers.contract.trial import TrialOrder, TrialResult
from workers.gather import gather

SWEEP = {"models": [TINY], "blocks": "mlp", "tp_degree": 2, "batch": [1, 2, 3], "replicates": 1}


class Group:
    """Measures what it is given, and takes no time."""

    def measure(self, order: TrialOrder) -> TrialResult:
        return gather(
            order,
            [rank_result(0), rank_result(1)],
            group_kind=GroupKind.FRESH,
            group_id="g",
            hardware_key="h",
            link_class="host_memory",
            node="n",
        )


def run(monkeypatch: pytest.MonkeyPatch, sweep: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["workers", str(sweep)])
    return command.main()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RankLostError("rank 1 ended with exit code 1", rank=1), "rank_lost"),
        (RuntimeError("DistNetworkError: no port"), "unexpected"),
    ],
)
def test_after_a_group_that_does_not_form_the_sweep_goes_on_in_another(
    error: Exception,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    becomes: Iterator[Exception | Group] = iter([error, Group()])

    @contextmanager
    def form(**_: object) -> Iterator[Group]:
        made = next(becomes)
        if isinstance(made, Exception):
            raise made
        yield made

    monkeypatch.setattr(command, "LocalGroup", form)
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps(SWEEP))
    assert run(monkeypatch, sweep) == 1
    first, *others = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["error"] == {"code": code, "message": str(error)}
    assert [line["group_id"] for line in others] == ["g", "g"]
    batches = [line["point"]["batch"] for line in (first, *others)]
    assert sorted(batches) == [1, 2, 3]


def test_points_over_symmetric_memory_get_a_group_of_their_degree_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: list[Group] = []
    measured: set[tuple[str, int, int]] = set()

    class Sized(Group):
        def __init__(self, size: int) -> None:
            self.size = size

        def measure(self, order: TrialOrder) -> TrialResult:
            measured.add((order.point.collective_impl, order.point.tp_degree, self.size))
            return super().measure(order)

    @contextmanager
    def form(*, size: int, degrees: tuple[int, ...], **_: object) -> Iterator[Group]:
        assert not alive, "two groups would share the devices"
        assert degrees[-1] == size
        alive.append(Sized(size))
        yield alive[0]
        alive.clear()

    monkeypatch.setattr(command, "LocalGroup", form)
    monkeypatch.setattr(command, "probe_node", lambda *_, **__: node(GPU))
    sweep = tmp_path / "sweep.json"
    axes = {"tp_degree": [2, 4], "collective_impl": ["auto", "one_shot"], "replicates": 2}
    sweep.write_text(json.dumps(SWEEP | axes))
    assert run(monkeypatch, sweep) == 0
    assert measured == {
        ("backend", 2, 4),
        ("backend", 4, 4),
        ("one_shot", 2, 2),
        ("one_shot", 4, 4),
    }
    assert not alive


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"[]", b"{"])
def test_what_is_no_sweep_ends_the_command_with_2_and_a_word_of_why(
    content: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = tmp_path / "sweep.json"
    if content is not None:
        sweep.write_bytes(content)
    assert run(monkeypatch, sweep) == 2
    said = capsys.readouterr()
    assert said.err
    assert not said.out


def test_a_folder_is_no_sweep_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, tmp_path) == 2
    assert str(tmp_path) in capsys.readouterr().err
