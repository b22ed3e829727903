"""Rounds of a trial, with steps that take no time and a clock that makes some up."""

from collections import Counter
from itertools import pairwise
from statistics import mean

import pytest
import torch
from torch import Tensor

from workers.contract.axes import Pass
from workers.contract.sweep import Sampling
from workers.timing.clocks import StepTime
from workers.timing.passes import CONTROL_SHARE, Sampled, Steps, sample
from workers.timing.peers import Peers


class Named:
    """A step that only has a name and a length."""

    has_backward = True

    def __init__(self, name: str, length_ns: int) -> None:
        self.name, self.length_ns = name, length_ns

    def forward(self) -> Tensor:
        return torch.empty(0)

    def backward(self, output: Tensor) -> None: ...


class Log:
    """A clock that believes each step, and remembers the order they came in."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def time(self, step: Named) -> StepTime:
        self.names.append(step.name)
        return StepTime(step.length_ns // 3, step.length_ns)


def run(points: list[Steps], control: Steps, *, sampling: Sampling) -> tuple[Sampled, list[str]]:
    log = Log()
    peers = Peers(None, clock_identity="")
    found = sample(points, control, clock=log, peers=peers, sampling=sampling)  # type: ignore[arg-type]
    return found, log.names


def passes(name: str, length_ns: int) -> dict[Pass, Named]:
    kinds = (Pass.CLEAN, Pass.SPLIT, Pass.COMPUTE)
    return {kind: Named(f"{name}.{kind}", length_ns) for kind in kinds}


EIGHT_ROUNDS = 8 * 2 * 3
"""Turns of a pair in all their orders, of one step each; it is judged after four."""
LONG_NS = 20_000_000
"""A step that is alone in its turn."""
EIGHT_AT_LEAST = Sampling(target_rel_ci=1e-9, min_steps=8)
NEVER_SURE = Sampling(target_rel_ci=1e-9, max_time_s=0.1, min_steps=10)


def test_turns_are_reversed_from_round_to_round() -> None:
    _, names = run([passes("a", 20_000_000)], {}, sampling=NEVER_SURE)
    assert names[:3] == ["a.clean", "a.split", "a.compute"]
    assert names[3:6] == ["a.compute", "a.split", "a.clean"]


def test_the_points_of_a_pair_take_turns_in_either_order_in_every_pass() -> None:
    points: list[Steps] = [passes("a", LONG_NS), passes("b", 2 * LONG_NS)]
    sampled, names = run(points, {}, sampling=EIGHT_AT_LEAST)
    for kind in ("clean", "split", "compute"):
        turns = [name[0] for name in names[:EIGHT_ROUNDS] if name.endswith(kind)]
        assert "".join(turns) == "abbabaab" + "baababba"
    first, second = sampled.passes
    assert len(first[Pass.CLEAN].step_ns) == len(second[Pass.CLEAN].step_ns)
    assert set(second[Pass.CLEAN].step_ns) == {2 * LONG_NS}


def test_each_point_of_a_pair_comes_as_often_after_itself_and_after_the_other() -> None:
    """What a turn finds in the caches is what the one before it left there."""
    _, names = run([passes("a", LONG_NS), passes("b", LONG_NS)], {}, sampling=EIGHT_AT_LEAST)
    turns = [*names[:EIGHT_ROUNDS], names[0]]
    for kind in ("clean", "split", "compute"):
        after = Counter(
            (turn[0], "itself" if turn[0] == before[0] else "other")
            for before, turn in pairwise(turns)
            if turn.endswith(kind)
        )
        assert after["a", "itself"] == after["b", "itself"]
        assert after["a", "other"] == after["b", "other"]


def test_the_first_turn_after_the_control_is_of_either_point_of_a_pair() -> None:
    """What comes then takes longer than the same thing later."""
    control = {Pass.CONTROL_GEMM: Named("gemm", 300_000)}
    points: list[Steps] = [passes("a", LONG_NS), passes("b", LONG_NS)]
    _, names = run(points, control, sampling=Sampling(target_rel_ci=1e-9, min_steps=40))
    firsts = [turn[0] for before, turn in pairwise(names) if before == "gemm" != turn]
    assert "".join(firsts) == "babababab"


def test_a_pair_is_never_judged_between_its_rounds() -> None:
    sure = Sampling(target_rel_ci=1, max_time_s=5, min_steps=10)
    _, names = run([passes("a", 1000), passes("b", 1000)], {}, sampling=sure)
    clean = [name[0] for name in names if name.endswith("clean")]
    when = {point: mean(i for i, name in enumerate(clean) if name == point) for point in "ab"}
    assert when["a"] == when["b"], "as much after the other as before it"


def test_the_control_takes_its_share_of_the_time_and_no_more() -> None:
    control = {Pass.CONTROL_GEMM: Named("gemm", 300_000)}
    sampling = Sampling(target_rel_ci=1e-9, max_time_s=2, min_steps=100)
    sampled, _ = run([passes("a", 1_000_000)], control, sampling=sampling)
    spent = sum(sampled.passes[0][Pass.CONTROL_GEMM].step_ns)
    assert 0.5 * CONTROL_SHARE < spent / sampled.timed_ns <= CONTROL_SHARE


@pytest.mark.parametrize("length_ns", [1000, 500_000_000])
def test_every_trial_has_a_control_however_short_or_long_its_steps(length_ns: int) -> None:
    control = {Pass.CONTROL_GEMM: Named("gemm", 300_000)}
    sampled, _ = run([passes("a", length_ns)], control, sampling=Sampling(min_steps=1))
    assert sampled.passes[0][Pass.CONTROL_GEMM].step_ns
