"""Probes over real processes and gloo: what their proofs pass, and what they find."""

import math
import re
from dataclasses import replace
from unittest import mock

import pytest
import torch

from tests.distributed.conftest import RankFailedError, RankFunction, SpawnRanks
from tests.distributed.wrong_collectives import (
    DealsToTheWrongRank,
    Distorted,
    SumsOnceMoreAlone,
    SumsTooMuch,
)
from workers.contract.axes import Collective, Dtype
from workers.contract.errors import NumericsError, ProofError
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe
from workers.tp.copying import CopyStep
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.probe_proof import prove_probe

CPU = torch.device("cpu")
OPS = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


def probe(op: Collective) -> CollectiveProbe:
    return CollectiveProbe(op=op, message_bytes=1024, tp_degree=2, dtype=Dtype.BFLOAT16)


def prove_all(group: TensorParallelGroup) -> list[int]:
    return [prove_probe(probe(op), group=group, device=CPU, seed=1).collective_bytes for op in OPS]


def test_sound_collectives_pass(spawn_ranks: SpawnRanks) -> None:
    assert spawn_ranks(2, prove_all) == [[1024] * 3] * 2


def prove_wrong_sum(group: TensorParallelGroup) -> None:
    wrong = SumsTooMuch(group.collectives, group.rank)
    group = group.with_collectives(wrong)
    prove_probe(probe(Collective.ALL_REDUCE), group=group, device=CPU, seed=1)


def prove_wrong_order(group: TensorParallelGroup) -> None:
    wrong = DealsToTheWrongRank(group.collectives, group.rank)
    group = group.with_collectives(wrong)
    prove_probe(probe(Collective.ALL_GATHER), group=group, device=CPU, seed=1)


@pytest.mark.parametrize("function", [prove_wrong_sum, prove_wrong_order])
def test_a_wrong_collective_is_found(spawn_ranks: SpawnRanks, function: object) -> None:
    with pytest.raises(RankFailedError) as caught:
        spawn_ranks(2, function)  # type: ignore[arg-type]
    assert isinstance(caught.value.__cause__, NumericsError)


def words_where_rank_1_is_wrong(group: TensorParallelGroup, wrong: type[Distorted]) -> str:
    distorted = group.with_collectives(wrong(group.collectives, group.rank))
    group = distorted if group.rank == 1 else group
    with pytest.raises(ProofError) as caught:
        prove_probe(probe(Collective.ALL_REDUCE), group=group, device=CPU, seed=1)
    return str(caught.value)


def words_where_the_product_of_rank_1_is_wrong(group: TensorParallelGroup, factor: float) -> str:
    def off(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w.T) * (factor if group.rank == 1 else 1)

    spec = GemmProbe(m=8, n=32, k=64, tp_degree=2, dtype=Dtype.FLOAT32)
    with mock.patch("workers.tp.product.F.linear", off), pytest.raises(NumericsError) as caught:
        prove_probe(spec, group=group, device=CPU, seed=1)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "argument", "says"),
    [
        (words_where_rank_1_is_wrong, SumsTooMuch, "elements .* are wrong on rank 1"),
        (words_where_rank_1_is_wrong, SumsOnceMoreAlone, "2 collectives of 1028 bytes .* rank 1"),
        (words_where_the_product_of_rank_1_is_wrong, 1.05, r"by 0\.05 of .* on rank 1;"),
        (words_where_the_product_of_rank_1_is_wrong, math.nan, "by nan of .* on rank 1;"),
    ],
    ids=["sum", "count", "product", "product of NaN"],
)
def test_all_ranks_tell_the_same_of_the_one_that_is_wrong(
    spawn_ranks: SpawnRanks, function: RankFunction[...], argument: object, says: str
) -> None:
    first, second = spawn_ranks(2, function, argument)
    assert first == second
    assert re.search(says, str(first))


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
def test_a_product_passes_and_a_wrong_one_does_not(
    dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = TensorParallelGroup(0, 1, NoCollectives())
    spec = GemmProbe(m=8, n=32, k=64, tp_degree=1, dtype=dtype)
    found = prove_probe(spec, group=alone, device=CPU, seed=1)
    assert 0 < found.max_rel_error <= found.tolerance

    def off(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w.T) * 1.05

    monkeypatch.setattr("workers.tp.product.F.linear", off)
    with pytest.raises(NumericsError, match="a product of 8 x 64 and 64 x 32"):
        prove_probe(spec, group=replace(alone), device=CPU, seed=1)


def test_a_copy_passes_and_one_that_leaves_something_out_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = TensorParallelGroup(0, 1, NoCollectives())
    spec = CopyProbe(copied_bytes=4096, tp_degree=1, dtype=Dtype.BFLOAT16)
    assert prove_probe(spec, group=alone, device=CPU, seed=1).max_abs_error == 0

    def half(step: CopyStep) -> torch.Tensor:
        return torch.cat([step.source[:1024], torch.zeros_like(step.source[1024:])])

    monkeypatch.setattr(CopyStep, "forward", half)
    with pytest.raises(NumericsError, match="1024 elements of a copy of 4096 bytes"):
        prove_probe(spec, group=alone, device=CPU, seed=1)
