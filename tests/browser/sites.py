"""The service behind a real socket, with sweeps that a stand-in for the dispatcher measured."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.analysis import plan
from service.api.app import create_app
from service.settings import Settings
from service.store import sweeps
from service.store.engine import Sessions, create_engine
from tests.integration.api import measuring
from tests.integration.api.serving import serving
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec

GRID = {
    "models": "pythia-31m",
    "blocks": ["mlp", "attention"],
    "tp_degree": [1, 2, 4],
    "batch": [1, 16, 256, 4096],
    "replicates": 3,
}


@dataclass(frozen=True, slots=True)
class Site:
    """An address, and the database behind it."""

    address: str
    sessions: Sessions


@contextmanager
def site(template: Path, home: Path, **settings: object) -> Iterator[Site]:
    """Serve a database of its own."""
    home.mkdir()
    shutil.copyfile(template, home / "tpsweep.sqlite3")
    given = Settings.model_validate({"home": home, "stream_poll_s": 0.02, **settings})
    engine = create_engine(given.database)
    sessions = Sessions(engine)
    try:
        with serving(create_app(given, sessions)) as address:
            yield Site(address, sessions)
    finally:
        engine.dispose()


def submit(sessions: Sessions, **changes: object) -> str:
    """A queued sweep."""
    spec = SweepSpec.model_validate({**GRID, **changes})
    expansion = plan.expand(spec, nodes=[], max_points=1000)
    with sessions.writing() as session:
        made = sweeps.create(session, spec, created_by="test", seed=1, expansion=expansion)
    return made.id


def step_us(spec: PointSpec) -> float:
    """Pays from a batch on."""
    communication = (100 + spec.batch / 4) * (spec.tp_degree > 1)
    return 20 + 2 * spec.batch / spec.tp_degree + communication


def measure_all(sessions: Sessions, *, slower: float = 1.0) -> None:
    """Measure what is queued, each trial a little different from the last."""
    turns = iter(range(1_000_000))
    measuring.measure_all(
        sessions, lambda spec: step_us(spec) * slower * (1 + next(turns) % 7 / 200)
    )
