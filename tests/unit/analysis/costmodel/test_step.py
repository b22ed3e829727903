"""A composed step does the work that the contract counts, and sends what it sends."""

import pytest

from service.analysis.costmodel.collectives import CollectiveCurve, CollectiveModel
from service.analysis.costmodel.curve import TimeCurve
from service.analysis.costmodel.gemm import Product
from service.analysis.costmodel.prediction import Basis, Prediction, within
from service.analysis.costmodel.ring import Link
from service.analysis.costmodel.step import predict_step, products
from workers.contract.axes import Arrangement, Block, Collective, Phase
from workers.contract.catalogue import resolve_model
from workers.contract.point import PointSpec
from workers.contract.workload import Message, expected_messages, flops_per_rank, weights_per_rank


def spec(
    block: Block,
    phase: Phase,
    tp_degree: int = 4,
    arrangement: Arrangement = Arrangement.COLUMN_ROW,
    *,
    seq: int = 512,
) -> PointSpec:
    return PointSpec(
        model=resolve_model("llama-2-70b"),
        block=block,
        arrangement=arrangement,
        phase=phase,
        tp_degree=tp_degree,
        batch=4,
        seq=seq,
    )


@pytest.mark.parametrize("tp_degree", [1, 2, 8])
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("block", Block)
def test_products_do_the_work_that_the_contract_counts(
    block: Block, phase: Phase, tp_degree: int
) -> None:
    point = spec(block, phase, tp_degree)
    done = sum(product.flops for product in products(point))
    assert done == pytest.approx(flops_per_rank(point), rel=0.003)


@pytest.mark.parametrize(
    "arrangement",
    [one for one in Arrangement if one not in (Arrangement.ROW_COLUMN, Arrangement.ROW_ROW)],
)
def test_every_arrangement_of_attention_reads_its_own_weights(arrangement: Arrangement) -> None:
    point = spec(Block.ATTENTION, Phase.DECODE, 4, arrangement)
    first, _, second = products(point)
    assert first.n * first.k + second.n * second.k == weights_per_rank(point)


@pytest.mark.parametrize("arrangement", Arrangement)
def test_every_arrangement_of_an_mlp_reads_its_own_weights(arrangement: Arrangement) -> None:
    point = spec(Block.MLP, Phase.PREFILL, 4, arrangement)
    assert sum(one.n * one.k for one in products(point)) == weights_per_rank(point)


def test_a_step_is_its_products_and_its_messages() -> None:
    point = spec(Block.MLP, Phase.TRAIN)

    def product_time(_product: Product) -> Prediction:
        return within(10.0, 0.1, basis=Basis.MEASURED, calibration="g")

    def message_time(_message: Message) -> Prediction:
        return within(7.0, None, basis=Basis.CATALOGUE, calibration="c")

    found = predict_step(point, product_time=product_time, message_time=message_time)
    assert found.compute.time_us == 9 * 10
    assert found.communication.time_us == 7 * len(expected_messages(point)) == 14
    assert found.step.time_us == 104
    assert found.step.basis is Basis.CATALOGUE
    assert found.step.low_us is None
    assert found.communication_share == pytest.approx(14 / 104)
    assert found.step.calibration == "g; c"


LINK = Link("a link", 100, 20)


def curves(*degrees: int) -> CollectiveModel:
    points = [(2.0**power, 20 + 2**power / 1e5) for power in range(3, 30)]
    return CollectiveModel(
        [
            CollectiveCurve(
                Collective.ALL_REDUCE, degree, TimeCurve.of(points, calibration=f"of {degree}")
            )
            for degree in degrees
        ],
        LINK,
    )


def predict(model: CollectiveModel, num_ranks: int, size: int = 1 << 20) -> Prediction:
    found = model.predict(Collective.ALL_REDUCE, message_bytes=size, num_ranks=num_ranks)
    assert found is not None
    return found


def test_its_own_curve_answers_first() -> None:
    found = predict(curves(2, 8), 8)
    assert (found.basis, found.calibration) == (Basis.MEASURED, "of 8")


def test_another_number_of_ranks_is_stretched_by_the_ring_and_says_so() -> None:
    found = predict(curves(2), 4)
    assert found.basis is Basis.EXTRAPOLATED
    assert found.time_us == pytest.approx((20 + 2**20 / 1e5) * 1.5, rel=0.001)
    assert found.low_us is None
    assert "2 ranks stretched to 4" in found.calibration


def test_without_curves_the_link_answers_as_catalogue() -> None:
    found = predict(CollectiveModel([], LINK), 4)
    assert found.basis is Basis.CATALOGUE
    assert found.time_us == pytest.approx(20 + 1.5 * (1 << 20) / 1e5)
    assert predict(CollectiveModel([], LINK), 1).time_us == 0
    assert (
        CollectiveModel([], None).predict(Collective.ALL_REDUCE, message_bytes=1, num_ranks=2)
        is None
    )
