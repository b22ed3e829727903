import json
from dataclasses import replace

import pytest

from service.reports.results import report
from service.reports.trials import with_trials
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point, steps
from tests.unit.reports.measured import measured_trial, on_torch
from workers.contract.axes import Arrangement, Block, Overlap, Pass, Phase
from workers.contract.workload import flops_per_rank

SPEC = point(tp_degree=2, batch=4)


def three_trials() -> list[MeasuredTrial]:
    return [
        measured_trial(SPEC, replicate=r, step_us=step, compute_us=compute)
        for r, (step, compute) in enumerate([(100, 80), (110, 70), (120, 102)])
    ]


def test_a_result_has_every_field_of_the_http_contract() -> None:
    fields = json.loads(report(three_trials()).model_dump_json())
    assert fields.keys() >= {
        *("id", "spec", "spec_key", "hardware", "environment", "step_time_us", "forward_time_us"),
        *("backward_time_us", "compute_time_us", "communication_time_us", "communication_share"),
        *("exposed_communication_us", "collective_share", "collectives", "tflop_per_s"),
        *("tokens_per_s", "peak_memory_bytes", "max_abs_error", "max_rel_error", "quality"),
        *("num_replicates", "samples_us"),
    }
    assert fields["step_time_us"].keys() >= {"median", "ci_low", "ci_high", "p10", "p90", "n"}
    assert fields["collectives"][0].keys() >= {
        *("op", "where", "count_per_step", "message_bytes", "time_us", "wait_us"),
        *("algbw_gb_per_s", "busbw_gb_per_s"),
    }
    assert fields["spec"].keys() >= {
        *("model", "block", "arrangement", "phase", "tp_degree", "batch", "seq", "dtype"),
        *("collective_impl", "overlap"),
    }


def test_a_figure_is_the_median_over_trials_of_each_trials_own() -> None:
    result = report(three_trials())
    assert result.step_time_us.median == 110
    assert (result.step_time_us.p10, result.step_time_us.p90) == pytest.approx((99, 143))
    assert (result.step_time_us.n, result.num_replicates) == (3, 3)
    assert result.step_time_us.num_steps == 150
    assert result.compute_time_us == 80
    assert result.exposed_communication_us == 20  # of 20, 40, 18
    assert result.communication_share == pytest.approx(0.2)  # of 0.2, 0.36, 0.15
    assert result.communication_time_us == pytest.approx(22)
    assert result.collective_share == pytest.approx(0.3 / 1.02)
    assert result.forward_time_us + result.backward_time_us == pytest.approx(110)
    assert result.peak_memory_bytes == 1002
    assert result.num_warmup_steps == 5


def test_every_figure_comes_with_an_interval_over_replicates() -> None:
    result = report(three_trials())
    assert result.step_time_us.ci_low is not None
    assert result.step_time_us.ci_high is not None
    assert result.step_time_us.ci_low < 100
    assert result.step_time_us.ci_high > 120
    for name in type(result.estimates).model_fields:
        figure = getattr(result.estimates, name)
        if name == "standalone_communication_us":
            assert figure is None, "nothing of it is overlapped"
            continue
        assert figure.ci_low < figure.median < figure.ci_high or figure.ci_low == figure.ci_high


def test_one_trial_has_no_interval_and_says_so() -> None:
    result = report(three_trials()[:1])
    assert (result.step_time_us.ci_low, result.step_time_us.ci_high) == (None, None)
    assert "single_replicate" in result.quality


def test_collectives_are_counted_by_place_with_bandwidth_as_nccl_tests_defines_it() -> None:
    forward, backward = report(three_trials()).collectives
    assert (forward.where, backward.where) == ("mlp.forward", "mlp.backward")
    assert (forward.count_per_step, forward.message_bytes) == (1, 4 * 256 * 4)
    assert forward.time_us == 11
    assert forward.algbw_gb_per_s == pytest.approx(4096 / 11e-6 / 1e9)
    assert forward.busbw_gb_per_s == forward.algbw_gb_per_s  # 2(n-1)/n is 1 for two ranks


def test_collectives_of_equal_place_and_size_are_one_line() -> None:
    trial = three_trials()[0]
    twice = trial.summary.model_copy(update={"collectives": trial.summary.collectives[:1] * 2})
    (line,) = report([replace(trial, summary=twice)]).collectives
    assert (line.count_per_step, line.time_us) == (2, 10)


def test_a_collective_too_short_for_the_clock_has_no_bandwidth() -> None:
    trial = three_trials()[0]
    instant = trial.summary.collectives[0].model_copy(update={"time_us": 0.0})
    summary = trial.summary.model_copy(update={"collectives": (instant,)})
    (line,) = report([replace(trial, summary=summary)]).collectives
    assert (line.algbw_gb_per_s, line.busbw_gb_per_s) == (None, None)


def test_what_runs_under_compute_has_no_time_in_the_step_and_is_added_to_nothing() -> None:
    spec = SPEC.model_copy(update={"overlap": Overlap.BACKWARD})
    trials = [measured_trial(spec, replicate=r, step_us=100, compute_us=95 + r) for r in range(3)]
    result = report(trials)
    assert (result.communication_time_us, result.collective_share) == (None, None)
    assert result.exposed_communication_us == 4
    assert result.standalone_communication_us == 10
    assert [line.timed_in for line in result.collectives] == [Pass.SPLIT, Pass.STANDALONE]
    plain = report([replace(trial, spec=SPEC) for trial in three_trials()])
    assert plain.standalone_communication_us is None


def test_a_stack_of_layers_shows_how_long_ranks_were_idle_beside_the_ideal() -> None:
    spec = SPEC.model_copy(update={"block": Block.LAYER, "arrangement": Arrangement.LAYER_SPLIT})
    trials = [
        replace(trial, summary=trial.summary.model_copy(update={"idle_shares": (0.5 + r, 0.4)}))
        for r in range(3)
        for trial in [measured_trial(spec, replicate=r, compute_us=80)]
    ]
    idle = report(trials).idle
    assert idle is not None
    assert (idle.share_by_rank, idle.ideal_share) == ((1.5, 0.4), 0.5)
    assert report(three_trials()).idle is None


def test_one_rank_alone_communicates_nothing() -> None:
    alone = point(tp_degree=1)
    result = report([measured_trial(alone, replicate=r, step_us=90 + r) for r in range(3)])
    assert result.communication_share == 0
    assert result.exposed_communication_us == 0
    assert result.communication_time_us == 0
    assert result.collective_share == 0
    assert result.collectives == ()
    assert result.quality == ()


def test_a_phase_without_backward_reports_none() -> None:
    spec = point(phase=Phase.PREFILL)
    result = report([measured_trial(spec, replicate=r, compute_us=90) for r in range(3)])
    assert result.backward_time_us == 0
    assert result.forward_time_us == result.step_time_us.median


def test_negative_exposed_communication_is_shown_and_its_share_flagged() -> None:
    trials = [
        measured_trial(SPEC, replicate=r, step_us=100, compute_us=compute)
        for r, compute in enumerate([101, 104, 99])
    ]
    result = report(trials)
    assert result.exposed_communication_us == -1
    assert result.communication_share == 0
    assert result.estimates.communication_share.median == pytest.approx(-0.01)
    assert "exposed_not_resolved" in result.quality


def test_throughput_is_per_device_for_operations_and_per_group_for_tokens() -> None:
    result = report(three_trials())
    assert result.tflop_per_s == pytest.approx(flops_per_rank(SPEC) / 110e-6 / 1e12)
    assert result.tokens_per_s == pytest.approx(4 / 110e-6)


def test_flags_of_any_trial_are_kept_and_explained() -> None:
    first, second, third = (measured_trial(SPEC, replicate=r, compute_us=80) for r in range(3))
    flagged = replace(second, quality=("oversubscribed",))
    result = report([first, flagged, on_torch(third, "2.14.0")])
    assert result.quality == ("mixed_versions", "oversubscribed")
    assert [note.split(":")[0] for note in result.quality_notes] == list(result.quality)
    assert result.environment.torch == "2.14.0"


def test_a_rough_split_and_a_reduced_proof_are_flagged() -> None:
    trial = three_trials()[0]
    rough = trial.summary.model_copy(update={"perturbation": 0.06})
    reduced = trial.proof.model_copy(update={"is_reduced": True})
    result = report([replace(trial, summary=rough, proof=reduced)])
    assert {"perturbed", "proof_reduced"} <= set(result.quality)


@pytest.mark.parametrize(
    ("perturbations", "flags"), [((0.0, 0.01, 0.2), set()), ((0.0, 0.06, 0.07), {"perturbed"})]
)
def test_a_split_is_flagged_by_the_perturbation_that_stands_beside_it(
    perturbations: tuple[float, ...], flags: set[str]
) -> None:
    trials = [
        replace(trial, summary=trial.summary.model_copy(update={"perturbation": share}))
        for trial, share in zip(three_trials(), perturbations, strict=True)
    ]
    found = report(trials)
    assert found.perturbation == perturbations[1]
    assert {"perturbed"} & set(found.quality) == flags


def test_the_errors_are_the_largest_of_any_trial() -> None:
    first, second, third = three_trials()
    worse = second.proof.model_copy(update={"max_abs_error": 0.5, "max_rel_error": 0.25})
    result = report([first, replace(second, proof=worse), third])
    assert (result.max_abs_error, result.max_rel_error) == (0.5, 0.25)


def test_trials_and_samples_are_shown_where_asked() -> None:
    trials = three_trials()[:2]
    plain = report(trials)
    assert (plain.trials, plain.samples_us) == (None, None)
    shown = with_trials(plain, trials)
    assert shown.samples_us is None
    assert shown.trials is not None
    assert [trial.replicate for trial in shown.trials] == [0, 1]
    assert shown.trials[1].exposed_communication_us == 40
    samples = {
        trial.id: {
            Pass.CLEAN: (steps([1000, 5000]), steps([3000, 2000], [1500, 500])),
            Pass.COMPUTE: (steps([700]), steps([800])),
        }
        for trial in trials
    }
    full = with_trials(plain, trials, samples=samples)
    assert full.samples_us == (3, 5, 3, 5)
    assert full.trials is not None
    assert full.trials[0].samples is not None
    assert [(own.pass_name, own.rank) for own in full.trials[0].samples] == [
        (Pass.CLEAN, 0),
        (Pass.CLEAN, 1),
        (Pass.COMPUTE, 0),
        (Pass.COMPUTE, 1),
    ]
    assert full.trials[0].samples[1].step_us == (3, 2)
    assert full.trials[0].samples[1].forward_us == (1.5, 0.5)


def test_the_same_trials_give_the_same_report_whatever_their_number() -> None:
    trials = [measured_trial(SPEC, replicate=r, step_us=100 + r, compute_us=80) for r in range(12)]
    assert report(trials) == report(trials)
