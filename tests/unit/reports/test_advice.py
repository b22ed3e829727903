"""Advice from trials with given times."""

import pytest

from service.analysis.recommendation.choice import Objective, Room
from service.analysis.recommendation.evidence import Basis, Errors, Predicted
from service.errors import InvalidRequestError
from service.reports.advice import AdviceRequest, report
from service.reports.recommendation.places import Place
from service.store.results import MeasuredTrial
from tests.unit.reports.measured import measured_trial
from workers.contract.axes import Block, Phase
from workers.contract.point import PointSpec
from workers.contract.presets import PRESETS
from workers.contract.shapes import ModelShape

ROOMY = Place("Test CPU", Room(memory_bytes=8 << 30, num_devices=2), "h1:test", None)
GPT2 = PRESETS["gpt2"]


def trials(layer: ModelShape = GPT2.shape, *, replicates: int = 3) -> list[MeasuredTrial]:
    """One rank takes 10 us a sequence; two take half of that and 100 us: they cross at 20."""
    return [
        measured_trial(
            PointSpec(
                model=layer, block=Block.LAYER, phase=Phase.DECODE, tp_degree=p, batch=b, seq=8
            ),
            replicate=r,
            step_us=(10 * b / p + 100 * (p - 1)) * (1 + r / 100),
            compute_us=10 * b / p * (1 + r / 100),
        )
        for p in (1, 2)
        for b in (1, 4, 16, 64, 256)
        for r in range(replicates)
    ]


def test_each_batch_gets_its_degree_and_the_crossing_is_marked() -> None:
    request = AdviceRequest(model=GPT2.model, sweep="sweep-a", threshold=0.3)
    found = report(request, ROOMY, trials())
    assert found.is_asked
    assert found.fits
    assert [one.tp_degree for one in found.recommendations] == [1, 1, 1, 2, 2]
    assert {one.basis for one in found.recommendations} == {Basis.MEASURED}
    (crossing,) = found.crossings
    assert crossing.pays_from.batch == pytest.approx(20, rel=0.01)
    one, two = found.curves
    assert (one.tp_degree, two.tp_degree) == (1, 2)
    step = two.steps[2].step_time_us
    assert step.median == pytest.approx(180 * 1.01)
    assert step.ci_low is not None


def test_throughput_wants_more_of_a_second_device_than_latency_does() -> None:
    request = AdviceRequest(
        model=GPT2.model, sweep="sweep-a", threshold=0.3, objective=Objective.THROUGHPUT
    )
    found = report(request, ROOMY, trials())
    assert {one.tp_degree for one in found.recommendations} == {1}


def test_another_layer_of_its_ratios_makes_a_prediction_and_says_so() -> None:
    def predict(spec: PointSpec) -> Predicted:
        assert spec.model.nameless == GPT2.shape.nameless
        assert spec.block is Block.LAYER
        time_us = 1000.0 / spec.tp_degree
        errors = Errors.independent(time_us, own=0.6 if spec.batch == 64 else 0.01)
        low_us, high_us = 0.9 * time_us, 1.1 * time_us
        return Predicted(time_us, low_us, high_us, 0.1, "a model of the test", errors)

    half = GPT2.shape.model_copy(
        update={"name": "half", "hidden_size": 384, "intermediate_size": 1536, "head_dim": 32}
    )
    place = Place(ROOMY.name, ROOMY.room, ROOMY.hardware_key, predict)
    quarter = half.model_copy(
        update={"hidden_size": 192, "intermediate_size": 768, "head_dim": 16, "name": "quarter"}
    )
    both = [*trials(quarter), *trials(half)]
    found = report(AdviceRequest(model=GPT2.model, sweep="sweep-a"), place, both)
    assert not found.is_asked
    assert found.measured == half
    assert [one.tp_degree for one in found.recommendations] == [2, 2, 2, 1, 2]
    assert "whether 2 is better cannot be told" in found.recommendations[3].sentence
    assert {one.basis for one in found.recommendations} == {Basis.PREDICTED}
    best = found.recommendations[0].candidates[1]
    assert (best.step_time_us, best.low_us, best.high_us) == (500, 450, 550)
    assert any("hidden 384 for 768" in said and "predicted" in said for said in found.sentences)
    assert any("at batch 1, 4, 16 the layer that was" in said for said in found.sentences)


def test_a_model_that_does_not_fit_is_advised_by_step_times_alone() -> None:
    tiny = Place("Test CPU", Room(memory_bytes=1 << 20, num_devices=2), "h1:test", None)
    request = AdviceRequest(model=GPT2.model, sweep="sweep-a", threshold=0.3)
    found = report(request, tiny, trials())
    assert not found.fits
    assert [one.tp_degree for one in found.recommendations] == [1, 1, 1, 2, 2]
    assert any("all 12 layers of gpt2 do not fit" in said for said in found.sentences)


def test_parts_of_a_layer_are_added_up() -> None:
    layer = PRESETS["pythia-31m"]
    parts = [
        measured_trial(
            PointSpec(
                model=layer.shape, block=block, phase=Phase.DECODE, tp_degree=p, batch=b, seq=8
            ),
            replicate=r,
            step_us=100 * b,
        )
        for block in (Block.ATTENTION, Block.MLP)
        for p in (1, 2)
        for b in (1, 4)
        for r in range(2)
    ]
    found = report(AdviceRequest(model=layer.model, sweep="sweep-a"), ROOMY, parts)
    assert found.curves[0].steps[1].step_time_us.median == pytest.approx(800)


def test_a_sweep_of_several_layers_is_refused() -> None:
    mixed = [*trials(), *trials(PRESETS["gpt2-xl"].shape)]
    with pytest.raises(InvalidRequestError, match="more than one layer"):
        report(AdviceRequest(model=GPT2.model, sweep="sweep-a"), ROOMY, mixed)
