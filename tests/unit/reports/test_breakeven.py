from dataclasses import replace

import pytest

from service.reports.breakeven import BreakEvenReport, reports
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial
from workers.contract.axes import Dtype, Phase

BATCHES = tuple(2**k for k in range(11))


def sweep(
    *,
    alpha: float = 100,
    degrees: tuple[int, ...] = (1, 2),
    batches: tuple[int, ...] = BATCHES,
    replicates: int = 3,
    phase: Phase = Phase.TRAIN,
    sweep_id: str = "sweep-a",
) -> list[MeasuredTrial]:
    """Compute 10 us a row over tp_degree; communication alpha, some percent apart in replicates."""
    trials = []
    for degree in degrees:
        for batch in batches:
            for r in range(replicates):
                compute = 10 * batch / degree
                exposed = alpha * (1 + 0.02 * r) if degree > 1 else 0
                trials.append(
                    measured_trial(
                        point(tp_degree=degree, batch=batch, phase=phase),
                        replicate=r,
                        sweep_id=sweep_id,
                        step_us=compute + exposed,
                        compute_us=compute,
                    )
                )
    return trials


def only(trials: list[MeasuredTrial]) -> BreakEvenReport:
    (found,) = reports(trials)
    return found


def test_both_break_evens_of_a_series_are_found_and_said_in_one_sentence() -> None:
    """Compute of one rank 5 * batch = 102 at 20.4; alone 10 * batch = 5 * batch + 102 as well."""
    found = only(sweep())
    assert (found.tp_degree, found.pays_against, found.phase) == (2, 1, Phase.TRAIN)
    assert found.compute_overtakes.state == "crossed"
    assert found.compute_overtakes.batch == pytest.approx(20.4, rel=0.01)
    assert found.compute_overtakes.n == 3
    assert found.pays_from is not None
    assert found.pays_from.batch == pytest.approx(20.4, rel=0.05)
    assert found.sentence.startswith(
        "tiny mlp train, tp_degree 2: compute overtakes communication from batch 20 (19 to 21); "
        "faster than tp_degree 1 from batch 20 (19 to 21)"
    )
    assert [own.batch for own in found.curve] == list(BATCHES)
    assert found.curve[0].exposed_communication_us == pytest.approx(102)


def test_what_is_not_reached_says_who_dominates_where() -> None:
    found = only(sweep(alpha=1e6))
    assert found.compute_overtakes.state == "not_reached"
    assert found.compute_overtakes.dominates == "communication"
    assert found.pays_from is not None
    assert found.pays_from.dominates == "tp_degree 1"
    assert found.sentence == (
        "tiny mlp train, tp_degree 2: communication dominates, break-even not reached "
        "in [1, 1024]; not faster than tp_degree 1 in [1, 1024]"
    )
    found = only(sweep(alpha=0.1))
    assert found.compute_overtakes.dominates == "compute"
    assert found.sentence == (
        "tiny mlp train, tp_degree 2: compute dominates from the smallest batch on, break-even not "
        "reached in [1, 1024]; faster than tp_degree 1 from the smallest batch on, in [1, 1024]"
    )


def test_an_interval_that_the_range_does_not_hold_is_open_at_that_end() -> None:
    """Replicates cross at 994, 1014 and 1034, and were measured up to 1024."""
    found = only(sweep(alpha=5 * 1024 / 1.03)).compute_overtakes
    assert (found.state, found.ci_high, found.n, found.num_crossed) == ("crossed", None, 3, 2)
    assert found.batch == pytest.approx(1014, rel=0.01)
    assert found.ci_low == pytest.approx(965, rel=0.02)


def test_what_cannot_be_told_has_a_reason() -> None:
    found = only(sweep(alpha=5 * 1024 / 1.005))
    assert (found.compute_overtakes.state, found.compute_overtakes.batch) == ("cannot_tell", None)
    assert found.compute_overtakes.reason == "it is crossed in 1 of 3 replicates"
    assert "cannot be told, it is crossed in 1 of 3 replicates" in found.sentence


def test_one_replicate_gives_a_batch_without_an_interval() -> None:
    found = only(sweep(replicates=1))
    assert found.compute_overtakes.batch == pytest.approx(20, rel=0.01)
    assert (found.compute_overtakes.ci_low, found.compute_overtakes.ci_high) == (None, None)
    assert "from batch 20 (one replicate, no interval)" in found.sentence


def test_a_degree_is_held_against_the_next_smaller_one_that_was_measured() -> None:
    found = reports(sweep(degrees=(1, 2, 4)))
    assert [(own.tp_degree, own.pays_against) for own in found] == [(2, 1), (4, 2)]
    alone = only(sweep(degrees=(4,)))
    assert (alone.pays_against, alone.pays_from) == (None, None)
    assert "faster" not in alone.sentence


def test_series_differ_in_everything_but_batch_and_degree() -> None:
    found = reports([*sweep(), *sweep(phase=Phase.PREFILL)])
    assert [own.phase for own in found] == [Phase.TRAIN, Phase.PREFILL]


def test_other_hardware_is_another_series() -> None:
    moved = [replace(trial, hardware_key="h1:other") for trial in sweep()]
    assert [own.hardware_key for own in reports([*sweep(), *moved])][1:] == ["h1:other"]


def test_one_batch_is_no_series() -> None:
    assert reports(sweep(batches=(8,))) == ()
    assert reports([]) == ()


def test_nothing_shared_with_the_smaller_degree_leaves_that_question_open() -> None:
    trials = [*sweep(degrees=(2,)), *sweep(degrees=(1,), batches=(4096,))]
    found = only(trials)
    assert (found.pays_against, found.pays_from) == (None, None)


def test_sequence_dtype_and_flags_are_named_where_they_are_not_the_usual() -> None:
    trials = [
        replace(
            trial,
            spec=trial.spec.model_copy(update={"seq": 128, "dtype": Dtype.BFLOAT16}),
            spec_key=f"long/{trial.spec_key}",
            quality=("oversubscribed",),
        )
        for trial in sweep()
    ]
    found = only(trials)
    assert found.sentence.startswith("tiny mlp train, seq 128, bfloat16, tp_degree 2: ")
    assert found.quality == ("oversubscribed",)
    assert found.sentence.endswith("(oversubscribed)")


@pytest.mark.parametrize(
    ("batches", "replicates", "degrees"),
    [
        ((512,), 3, (1, 2)),
        ((1, 512), 1, (1, 2)),
        ((1, 512), 2, (1, 2)),
        ((32, 64), 2, (1, 2)),
        ((512, 1024), 5, (1,)),
        ((1, 512), 2, (2,)),
    ],
)
def test_a_sweep_of_other_batches_leaves_a_known_break_even_as_it_is(
    batches: tuple[int, ...], replicates: int, degrees: tuple[int, ...]
) -> None:
    known = sweep(alpha=300, batches=(1, 32, 256))
    other = sweep(
        alpha=300, batches=batches, replicates=replicates, degrees=degrees, sweep_id="sweep-b"
    )
    alone, beside = only(known), only([*known, *other])
    assert alone.compute_overtakes.ci_low is not None
    assert beside.compute_overtakes == alone.compute_overtakes
    assert beside.pays_from == alone.pays_from


def test_the_sweep_that_most_replicates_cover_gives_the_range() -> None:
    small = sweep(batches=(1, 32, 256))
    large = sweep(batches=(1, 32, 256, 1024), sweep_id="sweep-b")
    found = only([*small, *large]).compute_overtakes
    assert (found.lowest_batch, found.highest_batch, found.n) == (1, 256, 6)
    larger = sweep(batches=(1, 1024), replicates=4, sweep_id="sweep-c")
    found = only([*small, *larger]).compute_overtakes
    assert (found.lowest_batch, found.highest_batch, found.n) == (1, 1024, 4)


def test_sweeps_of_one_batch_each_are_told_of_together() -> None:
    found = only([*sweep(batches=(1,)), *sweep(batches=(1024,), sweep_id="sweep-b")])
    assert "no replicate covers the range" in found.sentence


def test_no_replicate_over_the_whole_range_is_said() -> None:
    trials = sweep(replicates=1, degrees=(2,))[:-1]
    late = measured_trial(point(batch=1024), replicate=1, step_us=10_000, compute_us=5120)
    found = only([*trials, late])
    assert "no replicate covers the range" in found.sentence
