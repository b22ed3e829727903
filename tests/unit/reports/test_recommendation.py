"""Recommendations from trials with given times, and from published figures."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.costmodel.accelerators import ACCELERATORS
from service.analysis.recommendation.choice import Objective, Room
from service.analysis.recommendation.evidence import Basis
from service.reports.recommendation.evidence import NEWEST_SWEEPS, NOTHING, Measured
from service.reports.recommendation.places import Place, published
from service.reports.recommendation.ranges import ranges
from service.reports.recommendation.report import Asked, RecommendationReport, report
from service.store.results import MeasuredTrial
from tests.unit.reports.measured import measured_trial
from workers.contract.axes import Block, Dtype, Launch, Phase
from workers.contract.point import PointSpec
from workers.contract.presets import PRESETS
from workers.contract.sharding import find_obstacle

KNOWN = {accelerator.name: accelerator for accelerator in ACCELERATORS}
SEEN = Place("Test CPU", Room(memory_bytes=8 << 30, num_devices=4), "h1:test", None)


def asked(model: str = "gpt2", **more: object) -> Asked:
    usual: dict[str, object] = {
        "hardware": (),
        "batches": (1,),
        "seq": 1,
        "phase": Phase.PREFILL,
        "dtype": Dtype.FLOAT32,
        "objective": Objective.LATENCY,
        "threshold": 0.5,
    }
    return Asked(model=PRESETS[model].model, **{**usual, **more})  # type: ignore[arg-type]


def trials(
    by_degree: dict[int, float],
    *,
    batch: int = 8,
    blocks: tuple[Block, ...] = (Block.ATTENTION, Block.MLP),
    compute: float = 0.8,
    sweep_id: str = "sweep-a",
    replicates: int = 3,
    launch: Launch = Launch.EAGER,
) -> list[MeasuredTrial]:
    """Replicates of each block at each degree; compute is that share of the step."""
    return [
        measured_trial(
            PointSpec(
                model=PRESETS["gpt2"].shape,
                block=block,
                phase=Phase.PREFILL,
                tp_degree=degree,
                batch=batch,
                seq=1,
                launch=launch,
            ),
            replicate=r,
            sweep_id=sweep_id,
            step_us=step_us * (1 + r / 50),
            compute_us=step_us * (1 + r / 50) * (compute if degree > 1 else 1),
        )
        for degree, step_us in by_degree.items()
        for block in blocks
        for r in range(replicates)
    ]


def test_measured_steps_of_both_blocks_decide_where_there_are_any() -> None:
    found = report(asked(), SEEN, 8, Measured.of(trials({1: 100, 2: 60, 4: 58})))
    assert (found.tp_degree, found.basis) == (4, Basis.MEASURED)
    two = found.candidates[1]
    assert two.step_time_us == pytest.approx(2 * 60 * 1.02)
    assert two.communication_share == pytest.approx(0.2)
    assert two.speed_up is not None
    assert two.speed_up.median == pytest.approx(100 / 60)
    assert found.sentence == (
        "gpt2 prefill on Test CPU, batch 8, seq 1: tp_degree 4 for latency, measured "
        "(attention + mlp, batch 8, seq 1, float32)"
    )


def test_the_nearest_batch_is_taken_and_named() -> None:
    near, far = trials({1: 100, 2: 60}, batch=8), trials({1: 100, 2: 200}, batch=512)
    found = report(asked(), SEEN, 16, Measured.of([*far, *near]))
    assert found.tp_degree == 2
    assert found.batch == 16
    assert found.candidates[1].label == "attention + mlp, batch 8, seq 1, float32"


def test_one_replicate_has_no_interval_and_decides_nothing() -> None:
    found = report(asked(), SEEN, 8, Measured.of(trials({1: 200, 2: 198}, replicates=1)))
    assert found.tp_degree == 1
    assert found.sentence.endswith("; whether 2 is better cannot be told")
    for one in found.candidates[:2]:
        assert one.step_time_us is not None
        assert (one.low_us, one.high_us) == (None, None)
    two = found.candidates[1]
    assert two.speed_up is not None
    assert (two.speed_up.ci_low, two.speed_up.ci_high) == (None, None)


def test_what_was_in_doubt_against_a_degree_that_is_beaten_is_not_in_doubt() -> None:
    times = {1: (100.0, 100.0, 100.0), 2: (80.0, 130.0, 95.0), 4: (40.0, 40.0, 40.0)}
    steps = [
        replace(
            trial,
            summary=trial.summary.model_copy(update={"step_time_us": us, "compute_time_us": us}),
        )
        for degree, several in times.items()
        for us, trial in zip(several, trials({degree: 1}, blocks=(Block.MLP,)), strict=True)
    ]
    found = report(asked(), SEEN, 8, Measured.of(steps))
    assert found.tp_degree == 4
    assert (found.candidates[1].is_undecided, found.candidates[1].over) == (True, 1)
    assert "cannot be told" not in found.sentence


def test_steps_that_the_host_does_not_launch_are_no_steps_of_this_kind() -> None:
    graphs = trials({1: 10, 2: 9}, batch=8, launch=Launch.CUDA_GRAPH)
    eager = trials({1: 100, 2: 60}, batch=16)
    found = report(asked(), SEEN, 8, Measured.of([*graphs, *eager]))
    assert (found.tp_degree, found.basis) == (2, Basis.MEASURED)
    assert "batch 16" in found.sentence


def test_one_block_alone_is_said_to_be_alone() -> None:
    found = report(asked(), SEEN, 8, Measured.of(trials({1: 100, 2: 60}, blocks=(Block.MLP,))))
    assert found.candidates[1].label == "mlp, batch 8, seq 1, float32"


@pytest.mark.parametrize(
    ("blocks", "measured_twice"),
    [
        ((Block.ATTENTION, Block.MLP), Block.ATTENTION),
        ((Block.ATTENTION, Block.MLP), Block.MLP),
        ((Block.MLP,), Block.MLP),
    ],
)
def test_a_point_that_took_turns_with_itself_is_no_step(
    blocks: tuple[Block, ...], measured_twice: Block
) -> None:
    night = trials({1: 100, 2: 60}, blocks=blocks)
    control = 2 * trials({1: 7, 2: 900}, blocks=(measured_twice,), sweep_id="sweep-b")
    found = report(asked(), SEEN, 8, Measured.of([*night, *control]))
    assert found == report(asked(), SEEN, 8, Measured.of(night))


def test_the_newest_sweeps_that_measured_whole_steps_count() -> None:
    old, new = (
        [
            trial
            for night in nights
            for trial in trials({1: 1000 / night, 2: 600 / night}, sweep_id=f"sweep-{night}")
        ]
        for nights in (range(1, 4), range(4, 4 + NEWEST_SWEEPS))
    )
    lone = trials({1: 7, 2: 900}, blocks=(Block.MLP,), sweep_id="sweep-lone")
    found = report(asked(), SEEN, 8, Measured.of([*old, *new, *lone]))
    assert found == report(asked(), SEEN, 8, Measured.of(new))


def test_other_shapes_of_the_same_name_are_no_evidence() -> None:
    found = report(asked("llama-2-7b"), SEEN, 8, Measured.of(trials({1: 100, 2: 60})))
    assert all(one.basis is None for one in found.candidates)


def test_degrees_that_were_not_measured_are_predicted_where_something_can() -> None:
    place = published(KNOWN["H100 SXM"])
    found = report(asked(), place, 8, Measured.of(trials({1: 100, 2: 60})))
    bases = {one.tp_degree: one.basis for one in found.candidates}
    assert bases == {
        1: Basis.MEASURED,
        2: Basis.MEASURED,
        4: Basis.PREDICTED,
        8: None,  # 12 heads
        16: None,
    }


def test_seven_billion_on_eight_gpus_stays_on_one_for_decode() -> None:
    """Claim 26: TP of a model that fits one GPU raises the latency of its decode."""
    place = published(KNOWN["A100 80GB SXM"])
    request = asked(
        "llama-2-7b", phase=Phase.DECODE, dtype=Dtype.BFLOAT16, seq=2048, threshold=0.15
    )
    found = report(request, place, 1, NOTHING)
    assert (found.tp_degree, found.basis) == (1, Basis.PREDICTED)
    assert "of its step is communication, more than 15%" in found.candidates[3].reason


def test_seventy_billion_is_cut_because_it_must_be() -> None:
    place = published(KNOWN["H100 SXM"])
    request = asked("llama-2-70b", phase=Phase.DECODE, dtype=Dtype.BFLOAT16, seq=2048)
    found = report(request, place, 1, NOTHING)
    assert found.candidates[0].reason == "needs 152.5 GB of a GPU's 80.0 GB"
    assert found.tp_degree is not None
    assert found.tp_degree >= 2


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(PRESETS)),
    st.sampled_from(sorted(KNOWN)),
    st.sampled_from(Phase),
    st.sampled_from(Objective),
    st.sampled_from([1, 32, 1024]),
)
def test_a_recommended_degree_divides_and_fits(
    model: str, accelerator: str, phase: Phase, objective: Objective, batch: int
) -> None:
    place = published(KNOWN[accelerator])
    request = asked(model, phase=phase, objective=objective, dtype=Dtype.BFLOAT16, seq=2048)
    found: RecommendationReport = report(request, place, batch, NOTHING)
    degree = found.tp_degree
    if degree is None:
        assert not any(one.is_possible for one in found.candidates)
        return
    for block in (Block.MLP, Block.ATTENTION):
        assert find_obstacle(PRESETS[model].shape, block, tp_degree=degree) is None
    needed = next(one.needed_bytes for one in found.candidates if one.tp_degree == degree)
    assert needed is not None
    assert needed <= place.room.memory_bytes
    assert degree <= place.room.num_devices


def test_ranges_name_every_model_on_every_accelerator_and_begin_where_it_fits() -> None:
    found = ranges()
    assert {(one.model, one.hardware) for one in found} == {
        (model, accelerator) for model in PRESETS for accelerator in KNOWN
    }
    by_name = {(one.model, one.hardware): one for one in found}
    assert by_name["llama-2-7b", "H100 SXM"].smallest == 1
    assert by_name["llama-3-405b", "H100 SXM"].smallest is None
    assert by_name["llama-2-70b", "A100 80GB SXM"].smallest == 2
    for one in found:
        assert (one.smallest or 0) <= (one.largest or 0)
