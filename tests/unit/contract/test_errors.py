import pickle

import pytest

from workers.contract.errors import RankLostError, WorkerError


def leaves(cls: type[WorkerError]) -> list[type[WorkerError]]:
    below = cls.__subclasses__()
    return [leaf for sub in below for leaf in leaves(sub)] if below else [cls]


@pytest.mark.parametrize("cls", leaves(WorkerError))
def test_error_crosses_processes_with_its_message(cls: type[WorkerError]) -> None:
    copy = pickle.loads(pickle.dumps(cls("rank 1 of 4")))  # noqa: S301 - our own bytes
    assert type(copy) is cls
    assert str(copy) == "rank 1 of 4"


def test_lost_rank_crosses_processes_with_its_number_and_cause() -> None:
    copy = pickle.loads(pickle.dumps(RankLostError("gone", rank=3, cause="hung")))  # noqa: S301
    assert (str(copy), copy.rank, copy.cause) == ("gone", 3, "hung")


def test_every_leaf_has_a_code_of_its_own() -> None:
    codes = [leaf.code for leaf in leaves(WorkerError)]
    assert len(set(codes)) == len(codes)
    assert WorkerError.code not in codes
