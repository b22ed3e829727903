"""Blocks wrong on purpose, over real processes: each is refused, by name, on every rank."""

from dataclasses import dataclass
from typing import cast
from unittest import mock

import pytest
import torch

from tests.distributed.conftest import SpawnRanks
from tests.distributed.implementations import using
from tests.distributed.wrong_blocks import (
    REAL,
    ActivationChangedAfterItWasSaved,
    AnFForEachMatrix,
    Build,
    DetachedInput,
    GateAndUpSwapped,
    InnerActivationReduced,
    InputChanged,
    ReducedTwice,
    WithoutF,
    WithoutG,
    an_mlp,
    arranged_as,
    cut_the_other_way,
    dealt_wrongly_on_rank_1,
    one_cached_token_forgotten,
    real,
    wrong_query_heads,
)
from tests.distributed.wrong_collectives import (
    DealsToTheWrongRank,
    Distorted,
    Gathers,
    GathersWider,
    ScattersUnsummed,
    SendsWider,
    SumsInAnotherOrder,
    SumsTooMuch,
)
from workers.contract.axes import Activation, Arrangement, Block, CollectiveImpl, Phase
from workers.contract.errors import CollectiveCountError, NumericsError, ProofError
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.tp import blocks
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.proof import prove


@dataclass(frozen=True)
class Fault:
    """What is planted, and what the proof has to say of it."""

    error: type[ProofError]
    says: str
    build: Build = real
    distort: type[Distorted] = Distorted
    block: Block = Block.MLP
    gated: bool = False
    phase: Phase = Phase.TRAIN
    arrangement: Arrangement = Arrangement.COLUMN_ROW


FAULTS = {
    "input without grad": Fault(
        CollectiveCountError, "input does not require grad", an_mlp(DetachedInput)
    ),
    "no f": Fault(CollectiveCountError, "f is missing", an_mlp(WithoutF)),
    "no g": Fault(CollectiveCountError, "g is missing", an_mlp(WithoutG)),
    "no g in prefill": Fault(
        CollectiveCountError, "g is missing", an_mlp(WithoutG), phase=Phase.PREFILL
    ),
    "reduced twice": Fault(CollectiveCountError, "reduced twice", an_mlp(ReducedTwice)),
    "an f for each": Fault(
        CollectiveCountError, "an f of its own", an_mlp(AnFForEachMatrix), gated=True
    ),
    "inner activation reduced": Fault(
        CollectiveCountError, "an inner activation", an_mlp(InnerActivationReduced)
    ),
    "wider elements": Fault(CollectiveCountError, "another dtype", distort=SendsWider),
    "gather instead": Fault(CollectiveCountError, "were of another kind", distort=Gathers),
    "input gathered again": Fault(
        CollectiveCountError,
        "another arrangement than sequence_parallel_kept",
        arranged_as(Arrangement.SEQUENCE_PARALLEL),
        arrangement=Arrangement.SEQUENCE_PARALLEL_KEPT,
    ),
    "all-reduce for scatter": Fault(
        CollectiveCountError,
        "were of another kind than row_row has there",
        distort=ScattersUnsummed,
        arrangement=Arrangement.ROW_ROW,
    ),
    "wider gather": Fault(
        CollectiveCountError,
        "another dtype",
        distort=GathersWider,
        arrangement=Arrangement.COLUMN_COLUMN,
    ),
    "parts in another order": Fault(
        NumericsError,
        "off the unsharded twin's",
        distort=DealsToTheWrongRank,
        arrangement=Arrangement.SEQUENCE_PARALLEL,
    ),
    "sums too much": Fault(NumericsError, "once too often", distort=SumsTooMuch),
    "sums in another order": Fault(NumericsError, "other bits", distort=SumsInAnotherOrder),
    "wrong axis": Fault(NumericsError, "wrong axis", cut_the_other_way),
    "wrong rank": Fault(NumericsError, "dealt to the wrong rank", dealt_wrongly_on_rank_1),
    "gate and up": Fault(
        NumericsError, "gate and up are swapped", an_mlp(GateAndUpSwapped), gated=True
    ),
    "key-value heads": Fault(
        NumericsError, "wrong query heads", wrong_query_heads, block=Block.ATTENTION
    ),
    "cached token": Fault(
        NumericsError,
        "the cache lacks a token",
        one_cached_token_forgotten,
        block=Block.ATTENTION,
        phase=Phase.DECODE,
    ),
    "input changed": Fault(NumericsError, "wrote to its input", an_mlp(InputChanged)),
    "activation changed": Fault(
        NumericsError, "changed in place", an_mlp(ActivationChangedAfterItWasSaved)
    ),
}


def spec_with(fault: Fault) -> PointSpec:
    shape = ModelShape(
        hidden_size=16,
        intermediate_size=24,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=2,
        gated=fault.gated,
        activation=Activation.SILU if fault.gated else Activation.GELU,
    )
    return PointSpec(
        model=shape,
        block=fault.block,
        arrangement=fault.arrangement,
        phase=fault.phase,
        tp_degree=2,
        batch=2,
        seq=1,
    )


def report(group: TensorParallelGroup, fault: Fault) -> str:
    """Return how the proof ends with `fault` planted: the error's class and message."""
    spec = spec_with(fault)
    entry = blocks.BlockEntry(REAL[spec.block].plan, fault.build)
    distorted = group.with_collectives(fault.distort(group.collectives, group.rank))
    with mock.patch.object(blocks, "REGISTRY", {spec.block: entry}):
        try:
            prove(
                spec,
                group=distorted,
                device=torch.device("cpu"),
                seed=3,
                reference_dtype=torch.float64,
            )
        except ProofError as error:
            return f"{type(error).__name__}: {error}"
    return "proved"


def report_all(group: TensorParallelGroup, impl: CollectiveImpl) -> dict[str, str]:
    """Plant one fault after the other in one group, and last none."""
    group = using(group, impl)
    reports = {
        name: report(group, fault)
        for name, fault in FAULTS.items()
        if impl is CollectiveImpl.BACKEND or fault.arrangement is Arrangement.COLUMN_ROW
    }
    return reports | {"none": report(group, Fault(NumericsError, ""))}


@pytest.mark.parametrize("impl", [CollectiveImpl.BACKEND, CollectiveImpl.SHARED_MEMORY])
def test_every_planted_fault_is_refused_on_every_rank(
    impl: CollectiveImpl, spawn_ranks: SpawnRanks
) -> None:
    first, second = cast("list[dict[str, str]]", spawn_ranks(2, report_all, impl))
    assert first == second, "the ranks came to different verdicts"
    assert first.pop("none") == "proved"
    unlike = {
        name: text
        for name, text in first.items()
        if not text.startswith(FAULTS[name].error.__name__ + ": ") or FAULTS[name].says not in text
    }
    assert not unlike
    assert "rank 1:" in first["wrong rank"] or "rank 0:" in first["wrong rank"]


def prove_without_sums(group: TensorParallelGroup) -> str:
    return report(group.with_collectives(NoCollectives()), Fault(NumericsError, ""))


def test_collectives_that_do_not_sum_cannot_exchange_a_verdict(spawn_ranks: SpawnRanks) -> None:
    for text in cast("list[str]", spawn_ranks(2, prove_without_sums)):
        assert text.startswith("NumericsError: ")
        assert "do not sum over all ranks" in text
