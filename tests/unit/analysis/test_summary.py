import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis.steps import EmptyTrialError, slowest_ns
from service.analysis.summary import summarise
from tests.unit.analysis.trials import point, steps, timing, trial
from workers.contract.axes import Pass
from workers.contract.trial import PassSamples, TrialResult


def two_ranks() -> TrialResult:
    """Clean steps of the group: 1000, 2000, 1500 ns with forward parts 400, 900, 500."""
    return trial(
        {
            Pass.CLEAN: (
                steps([1000, 1100, 1500], [400, 300, 500]),
                steps([900, 2000, 1400], [100, 900, 100]),
            ),
            Pass.SPLIT: (steps([1800, 1800, 1800]), steps([1700, 1700, 1700])),
            Pass.COMPUTE: (steps([600, 700]), steps([800, 500])),
        },
        collectives=(
            timing([100, 300, 200], [10, 20, 30]),
            timing([400, 400, 400], [0, 0, 60], where="mlp.backward"),
        ),
    )


def test_a_step_lasts_as_long_as_its_slowest_rank() -> None:
    summary = summarise(two_ranks())
    assert (summary.step_time_us, summary.min_us, summary.num_steps) == (1.5, 1.0, 3)
    assert summary.compute_time_us == pytest.approx(0.75)
    assert slowest_ns(two_ranks().samples[Pass.CLEAN]) == (1000, 2000, 1500)


def test_forward_and_backward_come_from_the_rank_that_was_slowest_in_the_step() -> None:
    summary = summarise(two_ranks())
    assert summary.forward_time_us == pytest.approx(0.5)
    assert summary.backward_time_us == pytest.approx(1.0)  # of 600, 1100, 1000


def test_communication_is_summed_over_collectives_and_shares_follow_their_formulas() -> None:
    summary = summarise(two_ranks())
    assert summary.communication_time_us == pytest.approx(0.6)
    assert summary.wait_us == pytest.approx(0.02)
    assert summary.exposed_communication_us == pytest.approx(0.75)
    assert summary.communication_share == pytest.approx(0.5)
    assert summary.collective_share == pytest.approx(0.62 / 1.8)
    assert summary.perturbation == pytest.approx(0.2)
    assert [item.where for item in summary.collectives] == ["mlp.forward", "mlp.backward"]


def test_an_overlapped_collective_has_its_standalone_time_and_none_in_the_step() -> None:
    alone = timing([400, 400, 400], [0, 0, 60], where="mlp.backward")
    alone = alone.model_copy(update={"timed_in": Pass.STANDALONE})
    result = two_ranks()
    result = result.model_copy(update={"collectives": (result.collectives[0], alone)})
    summary = summarise(result)
    assert (summary.communication_time_us, summary.collective_share) == (None, None)
    assert summary.wire_us == pytest.approx(0.2)
    assert summary.standalone_communication_us == pytest.approx(0.4)
    assert summary.exposed_communication_us == pytest.approx(0.75)


def test_a_step_that_waits_for_nothing_needs_no_spans() -> None:
    alone = timing([400], [0]).model_copy(update={"timed_in": Pass.STANDALONE})
    both = (steps([1000]),) * 2
    summary = summarise(trial({Pass.CLEAN: both, Pass.COMPUTE: both}, collectives=[alone]))
    assert (summary.split_step_time_us, summary.perturbation) == (1.0, 0.0)


def test_layers_one_after_the_other_work_in_turn_and_are_idle_for_the_rest() -> None:
    passes = {kind: (steps([1000, 2000]), steps([900, 1800])) for kind in (Pass.CLEAN, Pass.SPLIT)}
    ranks: dict[Pass, tuple[PassSamples, ...]] = {**passes}
    result = trial(ranks).model_copy(update={"busy_ns": ((400, 1000), (300, 600))})
    summary = summarise(result)
    assert summary.compute_time_us == pytest.approx((0.7 + 1.6) / 2)
    assert summary.idle_shares == pytest.approx(((0.6 + 0.5) / 2, (0.7 + 0.7) / 2))


def test_exposed_communication_below_zero_is_kept() -> None:
    summary = summarise(trial({Pass.CLEAN: (steps([100]),) * 2, Pass.COMPUTE: (steps([120]),) * 2}))
    assert summary.exposed_communication_us == pytest.approx(-0.02)


def test_one_rank_alone_communicates_nothing_even_where_its_passes_differ_by_noise() -> None:
    summary = summarise(
        trial(
            {Pass.CLEAN: (steps([1000, 1010]),), Pass.COMPUTE: (steps([990, 1000]),)},
            spec=point(tp_degree=1),
        )
    )
    assert summary.exposed_communication_us == 0
    assert summary.communication_share == 0
    assert summary.collective_share == 0
    assert summary.perturbation == 0


@pytest.mark.parametrize(
    ("samples", "found"),
    [
        ({}, "0 ranks"),
        ({Pass.CLEAN: ()}, "0 ranks"),
        ({Pass.CLEAN: (steps([]), steps([]))}, r"\[0\] on 2 ranks"),
        ({Pass.CLEAN: (steps([1, 2]), steps([1]))}, r"\[1, 2\]"),
        ({Pass.CLEAN: (steps([1, 0]), steps([1, 0]))}, "step of 0 ns"),
        ({Pass.CLEAN: (steps([1, 2]), steps([1, 2]))}, "compute"),
    ],
)
def test_a_trial_without_usable_samples_is_refused(
    samples: dict[Pass, tuple[object, ...]], found: str
) -> None:
    result = two_ranks().model_copy(update={"samples": samples, "collectives": ()})
    with pytest.raises(EmptyTrialError, match=found):
        summarise(result)


def test_a_collective_without_spans_is_refused() -> None:
    result = two_ranks().model_copy(update={"collectives": (timing([], []),)})
    with pytest.raises(EmptyTrialError, match=r"mlp\.forward"):
        summarise(result)


@given(
    st.integers(1, 4).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(1, 10**9), min_size=size, max_size=size), min_size=1, max_size=4
        )
    )
)
def test_a_summary_lies_within_its_samples_and_its_parts_add_up_to_it(
    ranks: list[list[int]],
) -> None:
    passed = tuple(steps(times, [time // 3 for time in times]) for times in ranks)
    summary = summarise(trial({Pass.CLEAN: passed, Pass.COMPUTE: passed}))
    slowest = [max(times) for times in zip(*ranks, strict=True)]
    bounds = (summary.min_us, summary.p10_us, summary.step_time_us, summary.p90_us)
    assert list(bounds) == sorted(bounds)
    assert min(slowest) / 1e3 <= summary.step_time_us <= max(slowest) / 1e3
    parts = summary.forward_time_us + summary.backward_time_us
    assert parts == pytest.approx(summary.step_time_us, abs=0.01)
    assert summary.exposed_communication_us == 0
