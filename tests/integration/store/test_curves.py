"""Curves brought in: kept as they were read, and once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Row, Table
from service.store import curves
from service.store.engine import Sessions

TABLE = Table(
    operation=Operation.ALL_REDUCE,
    dtype="float",
    num_ranks=8,
    num_nodes=None,
    accelerator="NVIDIA H100",
    rows=(Row(1 << 40, 28.56, None), Row(8, 12.9, 12.87)),
)


def add(sessions: Sessions, table: Table = TABLE, hardware: str = "h100") -> bool:
    with sessions.writing() as session:
        _, is_new = curves.add(
            session, table, hardware=hardware, source="a.txt", imported_by="alice"
        )
    return is_new


def test_a_curve_comes_back_as_it_was_read(sessions: Sessions) -> None:
    assert add(sessions)
    with sessions.reading() as session:
        (found,) = curves.list_all(session)
    assert found.table == TABLE
    assert (found.hardware, found.source, found.imported_by) == ("h100", "a.txt", "alice")
    assert found.imported_at.tzinfo is not None


def test_the_same_figures_are_kept_once_on_each_hardware(sessions: Sessions) -> None:
    assert [add(sessions), add(sessions), add(sessions, hardware="other")] == [True, False, True]
    changed = replace(TABLE, rows=TABLE.rows[:1])
    assert add(sessions, changed)
    with sessions.reading() as session:
        assert curves.hardware_names(session) == ["h100", "other"]
        assert len(curves.list_all(session, hardware="h100")) == 2
        assert curves.list_all(session, operation=Operation.ALL_GATHER) == []


def test_several_who_bring_the_same_at_once_keep_it_once(sessions: Sessions) -> None:
    with ThreadPoolExecutor(4) as pool:
        news = list(pool.map(lambda _: add(sessions), range(4)))
    assert sorted(news) == [False, False, False, True]
