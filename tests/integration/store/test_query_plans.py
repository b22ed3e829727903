"""What runs often uses its index, also when most of a large table is history."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, text, update

from service.store import queue, results, sweeps
from service.store.engine import Sessions
from service.store.ids import new_ids
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import TrialRow
from service.store.result_filter import ResultFilter
from service.store.states import TrialState
from tests.integration.store.builders import OFFER, TTL, submit, sweep_spec
from workers.contract.axes import Kind

NUM_OLD_TRIALS = 5_000
NUM_OLD_SWEEPS = 200


@pytest.fixture
def history(engine: Engine, sessions: Sessions) -> Sessions:
    """One large and many small sweeps that are over, and one that waits."""
    old = submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    with sessions.reading() as session:
        point_id = session.scalar(select(TrialRow.point_id))
    trial = {
        "sweep_id": old.id,
        "point_id": point_id,
        "kind": Kind.BLOCK,
        "replicate": 0,
        "state": TrialState.SUCCEEDED,
        "attempt": 1,
        "num_charged": 1,
        "ready_at": old.created_at,
    }
    ids = new_ids(NUM_OLD_TRIALS)
    rows = [{**trial, "id": i, "position": n + 1} for n, i in enumerate(ids)]
    with engine.begin() as connection:
        connection.execute(insert(TrialRow), rows)
        connection.execute(update(TrialRow).values(state=TrialState.SUCCEEDED))
        copy_sweep(connection, old.id)
        connection.execute(update(SweepRow).values(finished_at=old.created_at))
    submit(sessions, sweep_spec(batches=20, degrees=(1,)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    return sessions


def copy_sweep(connection: Connection, sweep_id: str) -> None:
    columns = [column.name for column in SweepRow.__table__.columns if column.name != "id"]
    listed = ", ".join(columns)
    statement = text(
        f"INSERT INTO sweeps (id, {listed}) SELECT :id, {listed} FROM sweeps WHERE id = :old"  # noqa: S608 - names of columns
    )
    ids = new_ids(NUM_OLD_SWEEPS)
    connection.execute(statement, [{"id": new, "old": sweep_id} for new in ids])
    connection.execute(insert(ReplicateRow), [{"sweep_id": new, "number": 0} for new in ids])


class Plans:
    """Explains every statement of a connection before it runs."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.plans: list[tuple[str, str]] = []
        self._busy = False

    def watch(
        self,
        connection: Connection,
        _cursor: object,
        sql: str,
        values: tuple[object, ...] | dict[str, object],
        *_: object,
    ) -> None:
        if self._busy or not re.match(r"(SELECT|UPDATE|INSERT|DELETE)", sql):
            return
        prefix = "EXPLAIN QUERY PLAN " if self.engine.dialect.name == "sqlite" else "EXPLAIN "
        self._busy = True
        rows = connection.exec_driver_sql(prefix + sql, values).all()
        self._busy = False
        self.plans.append((sql, "\n".join(str(row[-1]) for row in rows)))

    def of(self, beginning: str) -> str:
        return next(plan for sql, plan in self.plans if sql.startswith(beginning))


@pytest.fixture
def plans(engine: Engine) -> Iterator[Plans]:
    watched = Plans(engine)
    event.listen(engine, "before_cursor_execute", watched.watch)
    yield watched
    event.remove(engine, "before_cursor_execute", watched.watch)


def scans(plan: str) -> list[str]:
    """Tables of which the plan reads every row, and not by a partial index."""
    return re.findall(r"(?:SCAN|Seq Scan on) (\w+)\b(?! USING)", plan)


def test_a_claim_looks_only_at_what_is_queued(history: Sessions, plans: Plans) -> None:
    with history.writing() as session:
        assert queue.claim(session, owner="o", offer=OFFER, ttl=TTL) is not None
    plan = plans.of("UPDATE trials")
    assert "ix_trials_queued" in plan
    assert "ix_trials_held" in plan
    assert not {"trials", "next_trial", "ready", "other"} & set(scans(plan)), plan


def test_an_idle_claim_and_recovery_read_no_history(history: Sessions, plans: Plans) -> None:
    with history.writing() as session:
        queue.recover_expired(session)
    plan = plans.of("SELECT trials.id")
    assert "ix_trials_held" in plan
    assert "trials" not in scans(plan), plan


def test_ending_a_trial_reads_only_its_sweep(history: Sessions, plans: Plans) -> None:
    with history.writing() as session:
        lease = queue.claim(session, owner="o", offer=OFFER, ttl=TTL)
        assert lease is not None
        plans.plans.clear()
        queue.start(session, lease)
        queue.release(session, lease)
    for sql, plan in plans.plans:
        assert "trials" not in scans(plan), (sql, plan)


def test_pages_begin_where_their_cursor_says(history: Sessions, plans: Plans) -> None:
    with history.reading() as session:
        if history.engine.dialect.name == "postgresql":
            # Small tables are read whole where that is allowed, whatever index there is.
            session.connection().execute(text("SET LOCAL enable_seqscan = off"))
        first = sweeps.page(session, limit=10)
        plans.plans.clear()
        sweeps.page(session, limit=10, cursor=first.next_cursor)
        assert "ix_sweeps_created_at_id" in plans.of("SELECT sweeps.id")
        results.page(session, ResultFilter(), limit=10)
        results.measured(session, ResultFilter(point_ids=("x",)))
    plan = plans.of("SELECT results.trial_id")
    assert "results" not in scans(plan), plan
