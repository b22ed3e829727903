"""Server time of every page over 100,000 results, against the limit of 150 ms.

    python -m tests.bench.pages [--results 100000] [--requests 30] [--database FILE]

All pages are asked in this process, each with arguments that differ from request to request; what
they took of the CPU stands beside, for machines that do other things as well. A database that is
named is kept, and filled only where it is not there yet: filling takes minutes.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from service.api.__main__ import spare_requests
from service.api.app import create_app
from service.pages.routers import ROUTERS
from service.settings import Settings
from service.store import schema
from service.store.engine import Sessions, create_engine
from service.store.models.result import ResultRow
from service.watch.judge import Judge
from tests.bench.large_history import BEGAN, KINDS, LargeHistory, repeat_findings
from tests.integration.store.builders import FakeClock

LIMIT_MS = 150
NUM_FINDINGS = 2000
NUM_ARGUMENTS = 30
CURVES = Path(__file__).parents[1] / "cases" / "nccl-tests"


@dataclass(frozen=True, slots=True)
class Known:
    """What pages are asked about."""

    nights: Sequence[str]
    """Sweeps of one schedule, newest first."""
    others: Sequence[str]
    alike: Sequence[tuple[str, str]]
    """Two of the others that measured the same."""
    grid: str
    points: Sequence[str]
    findings: Sequence[str]
    case: str


def fill(sessions: Sessions, clock: FakeClock, num_points: int) -> None:
    """Say how long it took."""
    started = time.perf_counter()
    history = LargeHistory(sessions, clock, np.random.default_rng(1))
    history.fill(num_points)
    say(f"{history.num_points} points of {history.num_results} trials: {since(started):.0f} s")
    started = time.perf_counter()
    judged = Judge(Sessions(sessions.engine)).look()
    say(f"{judged} nights judged: {since(started):.0f} s")
    repeat_findings(sessions, NUM_FINDINGS)


def bring_rest(client: TestClient) -> None:
    """A webhook, and every file of nccl-tests that is at hand."""
    hook = {"name": "hook", "target": "https://1.1.1.1/hook"}
    client.post("/v1/webhooks", json=hook).raise_for_status()
    for path in sorted(CURVES.glob("*.txt")):
        client.post(
            f"/v1/results/import?hardware={path.name.partition('.')[0]}",
            content=path.read_bytes(),
            headers={"Content-Type": "text/plain"},
        )


def known(sessions: Sessions, client: TestClient) -> Known:
    """Look for what is there."""
    policy = f"nightly-{KINDS[0].name}"

    def ids(path: str) -> list[str]:
        answer = client.get(path)
        answer.raise_for_status()
        return [one["id"] for one in answer.json()["items"]]

    nights = ids(f"/v1/sweeps?tag=schedule={policy}&limit={NUM_ARGUMENTS + 10}")
    newest = [
        one
        for number in range(7)
        for one in client.get(f"/v1/sweeps?tag=team=team {number}&limit=20").json()["items"]
    ]
    others = [one["id"] for one in newest]
    first: dict[tuple[object, ...], str] = {}
    alike = []
    for one in newest:
        what = (one["hardware_key"], one["spec"]["phase"][0], one["spec"]["models"][0]["name"])
        if what in first:
            alike.append((first[what], one["id"]))
        first[what] = one["id"]
    with sessions.reading() as session:
        every = select(ResultRow.point_id).where(ResultRow.sweep_id.in_(others[:NUM_ARGUMENTS]))
        points = session.scalars(every.distinct()).all()[::97]
        grid = session.scalars(
            select(ResultRow.sweep_id)
            .group_by(ResultRow.sweep_id)
            .order_by(func.count().desc())
            .limit(1)
        ).one()
        case = session.scalars(
            select(ResultRow.spec_key).where(ResultRow.sweep_id == nights[0]).limit(1)
        ).one()
    findings = ids(f"/v1/findings?limit={NUM_ARGUMENTS}")
    return Known(nights, others, alike, grid, points, findings, case)


def paths(of: Known) -> Mapping[str, Sequence[str]]:
    """What is asked, by the page's route; a text after it tells several apart."""
    h100 = KINDS[0].hardware.hardware_key
    return {
        "/": ["/"],
        "/sweeps": ["/sweeps"],
        "/sweeps of a state": ["/sweeps?state=failed", "/sweeps?state=running"],
        "/sweeps of a tag": [f"/sweeps?tag=commit%3Dc{number:03}" for number in range(90)],
        "/sweeps/new": ["/sweeps/new", f"/sweeps/new?sweep={of.others[0]}"],
        "/sweeps/{sweep_id}": [f"/sweeps/{one}" for one in of.others],
        "/sweeps/{sweep_id} of a night": [f"/sweeps/{one}" for one in of.nights],
        "/sweeps/{sweep_id} of 10,000 points": [
            f"/sweeps/{of.grid}?seq={seq}" for seq in (128, 512, 2048, 4096, 8192)
        ],
        "/sweeps/{sweep_id}/progress": [f"/sweeps/{one}/progress" for one in of.others],
        "/points/{point_id}": [f"/points/{one}" for one in of.points],
        "/compare": ["/compare"],
        "/compare two nights": [
            f"/compare?baseline={a}&candidate={b}"
            for a, b in zip(of.nights[1:], of.nights, strict=False)
        ],
        "/compare two sweeps": [f"/compare?baseline={a}&candidate={b}" for a, b in of.alike],
        "/findings": ["/findings"],
        "/findings of any state": ["/findings?state=any"],
        "/findings/{finding_id}": [f"/findings/{one}" for one in of.findings],
        "/hardware": ["/hardware"],
        "/recommend": ["/recommend"],
        "/recommend a model": [
            f"/recommend?model=llama-3-8b&hardware=H100&phase=train&batch={2**k}&seq=1"
            for k in range(10)
        ],
        "/memory": ["/memory?model=llama-2-70b&zero_stage=0+3&data_parallel=8"],
        "/claims": ["/claims"],
        "/schedules": ["/schedules"],
        "/baselines": ["/baselines"],
        "/webhooks": ["/webhooks"],
        "/webhooks/{webhook}": ["/webhooks/hook"],
        "/tokens": ["/tokens"],
        "/sign-in": ["/sign-in"],
        "/static/{name}": ["/static/pages.css"],
        "/history": ["/history"],
        "/history of a case": [f"/history?case={of.case}&hardware={h100}"],
    }


def refuse_forgotten(asked: Mapping[str, Sequence[str]]) -> None:
    """Exit where some page has no arguments here."""
    routes = [route for router in ROUTERS for route in router.routes]
    pages = {
        one.path for one in routes if isinstance(one, APIRoute) and "GET" in (one.methods or ())
    }
    forgotten = pages - {name.partition(" ")[0] for name in asked}
    if forgotten:
        sys.exit(f"pages that nothing is asked of: {', '.join(sorted(forgotten))}")


def measure(client: TestClient, name: str, asked: Sequence[str], num_requests: int) -> bool:
    """Say the page's times; return whether it keeps to the limit."""
    client.get(asked[-1]).raise_for_status()
    times, of_cpu = [], []
    for number in range(num_requests):
        started, worked = time.perf_counter(), time.process_time()
        answer = client.get(asked[number % len(asked)])
        times.append(1e3 * since(started))
        of_cpu.append(1e3 * (time.process_time() - worked))
        answer.raise_for_status()
    middle, high = np.quantile(times, (0.5, 0.95))
    is_fast = bool(high <= LIMIT_MS)
    figures = f"{middle:8.1f} {high:8.1f} {np.median(of_cpu):8.1f}"
    say(f"{name:<38} {figures}{'' if is_fast else '   above the limit'}")
    return is_fast


@contextmanager
def served(database: Path, num_points: int) -> Iterator[tuple[Sessions, TestClient]]:
    """The service over the database, which is filled where it is not there."""
    is_new = not database.exists()
    engine = create_engine(f"sqlite:///{database}")
    sessions = Sessions(engine)
    settings = Settings.model_validate({"home": database.parent, "database_url": str(engine.url)})
    if is_new:
        schema.upgrade(engine)
        clock = FakeClock(BEGAN)
        fill(Sessions(engine, clock=clock), clock, num_points)
    app = create_app(settings, sessions)
    with TestClient(app, base_url="http://127.0.0.1:8321") as client:
        if is_new:
            bring_rest(client)
        spare_requests()
        yield sessions, client
    engine.dispose()


def since(started: float) -> float:
    return time.perf_counter() - started


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Return 0 where every page keeps to the limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--database", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        database = given.database or Path(folder) / "large.sqlite3"
        with served(database, given.results) as (sessions, client):
            asked = paths(known(sessions, client))
            refuse_forgotten(asked)
            heads = f"{'p50, ms':>8} {'p95, ms':>8} {'CPU, ms':>8}"
            say(f"{'page':<38} {heads}   limit of p95: {LIMIT_MS} ms")
            kept = [measure(client, name, own, given.requests) for name, own in asked.items()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
