"""A step as the sum of its matrix products, its attention and its collectives.

Legend: T tokens of a step, H hidden, F inner width, P tp_degree.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from service.analysis.costmodel.gemm import Product
from service.analysis.costmodel.prediction import Prediction, total
from workers.contract.axes import Block, Phase
from workers.contract.layouts import Cut
from workers.contract.point import PointSpec
from workers.contract.workload import (
    Message,
    expected_messages,
    heads_per_rank,
)

ProductTime = Callable[[Product], Prediction]
MessageTime = Callable[[Message], Prediction]


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """What a step takes, and of what."""

    step: Prediction
    compute: Prediction
    communication: Prediction
    ratio_spread: float | None = None
    """Half width in log time of what its compute over that of another TP degree is off by, less
    than both bands would let expect; None where nothing tells, and both err for themselves."""

    @property
    def communication_share(self) -> float:
        """Of the step, where nothing overlaps."""
        return self.communication.time_us / self.step.time_us if self.step.time_us else 0.0


def predict_step(
    spec: PointSpec, *, product_time: ProductTime, message_time: MessageTime
) -> StepPrediction:
    """Compose a step; pointwise work and norms are left out, as small beside the products.

    Stand-alone times of collectives overstate those within a step by up to 17 % (8 H100,
    Llama-70B: tests/bench/prediction.py).
    """
    compute = total([product_time(product) for product in products(spec)])
    communication = total([message_time(message) for message in expected_messages(spec)])
    return StepPrediction(total([compute, communication]), compute, communication)


def products(spec: PointSpec) -> Iterator[Product]:
    """Matrix products of one step on one rank; backward has two for each of forward."""
    for product in _forward(spec):
        yield product
        if spec.phase.has_backward:
            yield Product(product.m, product.k, product.n)
            yield Product(product.k, product.n, product.m)


def _forward(spec: PointSpec) -> Iterator[Product]:
    model = spec.model
    if spec.block is not Block.MLP:
        heads, kv_heads = heads_per_rank(model, spec.num_shards)
        yield _first(spec, (heads + 2 * kv_heads) * model.head_dim)
        yield from _attention(spec)
        yield _second(spec, heads * model.head_dim)
    if spec.block is not Block.ATTENTION:
        for _ in range(2 if model.gated else 1):
            yield _first(spec, model.intermediate_size // spec.num_shards)
        yield _second(spec, model.intermediate_size // spec.num_shards)


def _first(spec: PointSpec, width_per_rank: int) -> Product:
    """x_TH @ w_HF: cut along its columns, its rows, or not at all."""
    hidden = spec.model.hidden_size
    if spec.layout.first is Cut.ROW:
        return Product(spec.num_tokens, width_per_rank * spec.tp_degree, hidden // spec.tp_degree)
    return Product(spec.num_tokens, width_per_rank, hidden)


def _second(spec: PointSpec, width_per_rank: int) -> Product:
    """x_TF @ w_FH, cut in the same ways."""
    hidden = spec.model.hidden_size
    if spec.layout.second is Cut.COLUMN:
        return Product(spec.num_tokens, hidden // spec.tp_degree, width_per_rank * spec.tp_degree)
    return Product(spec.num_tokens, hidden, width_per_rank)


def _attention(spec: PointSpec) -> Iterator[Product]:
    """Scores and values as products of the same work and bytes, all heads of a rank together.

    In decode every cached key and value is read once, for the queries that share it; in prefill
    the scores of a causal half are what counts.
    """
    head_dim = spec.model.head_dim
    heads, kv_heads = heads_per_rank(spec.model, spec.num_shards)
    match spec.phase:
        case Phase.DECODE:
            cached = spec.batch * (spec.seq + 1)
            yield Product(max(1, heads // kv_heads), cached, 2 * kv_heads * head_dim)
        case Phase.TRAIN | Phase.PREFILL:
            scores = Product(spec.num_tokens, (spec.seq + 1) // 2, heads * head_dim)
            yield from (scores, scores)
        case _:
            assert_never(spec.phase)
