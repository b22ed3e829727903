"""What twin steps of two points that took turns say, on hosts that change within a trial."""

from collections.abc import Sequence
from statistics import stdev

import numpy as np
import pytest

from service.analysis.pairs import ratios_of
from service.analysis.summary import summarise
from service.analysis.turns import in_step, turn_ratios
from tests.unit.analysis.trials import point, steps, timing, trial
from workers.contract.axes import Pass
from workers.contract.trial import CollectiveTiming, PassSamples, TrialResult

NUM_STEPS = 40


def on_both_ranks(
    step_ns: Sequence[int], *, collectives: Sequence[CollectiveTiming] = ()
) -> TrialResult:
    """Steps of which half was compute, and spans in one split step each."""
    passes: dict[Pass, Sequence[int]] = {Pass.CLEAN: step_ns}
    passes[Pass.COMPUTE] = [ns // 2 for ns in step_ns]
    if collectives:
        passes[Pass.SPLIT] = [10**6] * len(collectives[0].wire_ns)
    samples: dict[Pass, tuple[PassSamples, ...]] = {
        kind: (steps(values),) * 2 for kind, values in passes.items()
    }
    return trial(samples, collectives=collectives)


def two_speeds(seed: int, *, factor: float) -> tuple[TrialResult, TrialResult]:
    """Twin steps on a host that falls to half its speed and recovers, about five times a trial."""
    rng = np.random.default_rng(seed)
    changes = rng.random(2 * NUM_STEPS) < 0.12
    host = 1 + np.cumsum(changes) % 2
    host = host * np.exp(rng.normal(0, 0.02, size=host.size))
    first, second = (1e5 * host[::2]).astype(int), (1e5 * factor * host[1::2]).astype(int)
    return on_both_ranks(first.tolist()), on_both_ranks(second.tolist())


def test_a_host_of_two_speeds_does_not_reach_the_ratio_of_its_turns() -> None:
    """Medians of the points alone fall on slow or on fast steps by chance; twins seldom do."""
    by_turns, by_medians = [], []
    for seed in range(50):
        first, second = two_speeds(seed, factor=1.1)
        found = turn_ratios(first, second)
        assert found is not None
        by_turns.append(found.step_time)
        by_medians.append(summarise(second).step_time_us / summarise(first).step_time_us)
    assert by_turns == pytest.approx([1.1] * 50, rel=0.03)
    assert stdev(by_medians) > 5 * stdev(by_turns)


def test_where_nothing_changes_it_is_the_ratio_of_medians() -> None:
    first = on_both_ranks([1000] * 5, collectives=[timing([100, 110, 90], [0, 0, 0])])
    second = on_both_ranks([1500] * 5, collectives=[timing([50, 55, 45], [0, 0, 0])])
    by_medians = ratios_of(summarise(first), summarise(second))
    assert ratios_of(summarise(first), summarise(second, beside=first)) == pytest.approx(by_medians)
    assert by_medians == pytest.approx(
        {
            "step_time": 1.5,
            "compute": 1.5,
            "exposed_communication": 1.25,
            "all_reduce mlp.forward": 0.5,
        }
    )


def test_each_step_counts_with_its_slowest_rank() -> None:
    first = trial({Pass.CLEAN: (steps([100, 300]), steps([200, 100]))})
    second = trial({Pass.CLEAN: (steps([400, 100]), steps([100, 600]))})
    found = turn_ratios(first, second)
    assert found is not None
    assert found.step_time == pytest.approx(2)
    assert found.compute is None


def test_points_that_ran_unequally_often_have_no_twins_and_keep_their_medians() -> None:
    first, second = on_both_ranks([1000] * 4), on_both_ranks([3000] * 5)
    assert turn_ratios(first, second) is None
    assert ratios_of(summarise(first), summarise(second, beside=first))["step_time"] == 3


def test_exposed_communication_is_what_the_step_and_the_compute_changed_by() -> None:
    """1 plus the change over the first point's step, each term by its own turns."""
    first, second = (
        trial({Pass.CLEAN: (steps([step]),) * 2, Pass.COMPUTE: (steps([compute]),) * 2})
        for step, compute in ((1000, 600), (1200, 630))
    )
    found = ratios_of(summarise(first), summarise(second, beside=first))
    assert found["exposed_communication"] == pytest.approx(1 + (570 - 400) / 1000)


def test_layers_in_turn_count_with_what_their_ranks_worked() -> None:
    def worked(busy_ns: int) -> TrialResult:
        both = (steps([1000]),) * 2
        return trial({Pass.CLEAN: both, Pass.SPLIT: both}).model_copy(
            update={"busy_ns": ((busy_ns,), (busy_ns,))}
        )

    found = turn_ratios(worked(200), worked(300))
    assert found is not None
    assert found.compute == pytest.approx(1.5)


def test_a_collective_that_takes_no_time_in_some_steps_is_compared_in_the_others() -> None:
    first = on_both_ranks([1000], collectives=[timing([0, 100, 100], [0, 0, 0])])
    second = on_both_ranks([1000], collectives=[timing([70, 0, 200], [0, 0, 0])])
    never = on_both_ranks([1000], collectives=[timing([0, 0, 0], [0, 0, 0])])
    found, none = turn_ratios(first, second), turn_ratios(first, never)
    assert found is not None
    assert none is not None
    assert found.wires == pytest.approx({"all_reduce mlp.forward": 2})
    assert none.wires == {}


def test_collectives_of_one_place_are_numbered_and_those_under_compute_left_out() -> None:
    one, other = timing([1], [0]), timing([2], [0])
    hidden = timing([3], [0]).model_copy(update={"timed_in": Pass.STANDALONE})
    assert in_step([one, hidden, other]) == {
        "all_reduce mlp.forward": one,
        "all_reduce mlp.forward 2": other,
    }


def test_a_rank_alone_has_its_step_and_nothing_else() -> None:
    alone = trial({Pass.CLEAN: (steps([100, 100]),)}, spec=point(tp_degree=1))
    assert ratios_of(summarise(alone), summarise(alone, beside=alone)) == {"step_time": 1}
