"""A database as half a year fills it: nights of four schedules, one huge sweep, and many others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Final

import numpy as np
from sqlalchemy import insert, select

from service.analysis.schedules.spec import ScheduleSpec
from service.analysis.schedules.tags import TAG
from service.store import fleet, schedules, sweeps
from service.store.engine import Sessions
from service.store.ids import new_ids
from service.store.models.finding import FindingRow
from tests.bench import bulk_results
from tests.bench.bulk_results import Conditions, Kind
from tests.integration.store.builders import FakeClock
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.sweep import SweepSpec

BEGAN = datetime(2026, 1, 1, 2, tzinfo=UTC)
NUM_NODES, NUM_NIGHTS = 6, 180
JUDGED_NIGHTS = 2
"""The newest, which schedules are there for: judging one takes seconds."""
NIGHTS_WITH_SAMPLES = 12
SLOW_NODE_NIGHT, ROLL_OUT_NIGHT = 165, 120
SHARE_OF_GRID = 10
MODELS = ("llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3-8b", "llama-3-70b")
NIGHTLY: Final = {
    "models": "llama-3-8b",
    "blocks": ["mlp", "attention"],
    "tp_degree": [1, 2, 4, 8],
    "batch": [1, 32, 1024],
}
GRID: Final = {
    "models": list(MODELS),
    "blocks": ["mlp", "attention"],
    "phase": ["prefill", "decode"],
    "tp_degree": [1, 2, 4, 8],
    "seq": [128, 512, 2048, 4096, 8192],
}
POINTS_A_BATCH = 400
"""Of that grid."""


def _kind(name: str, accelerator: str, fabric: str, slowness: float) -> Kind:
    hardware = Hardware(accelerator=accelerator, memory_class_gib=80, num_devices=8, fabric=fabric)
    return Kind(name, hardware, slowness, NUM_NODES)


KINDS = (
    _kind("h100", "NVIDIA H100 80GB HBM3", "nvswitch", 1.0),
    _kind("a100", "NVIDIA A100-SXM4-80GB", "nvlink", 2.4),
    _kind("l40s", "NVIDIA L40S", "pcie", 3.1),
    _kind("gh200", "NVIDIA GH200 480GB", "nvlink", 0.9),
)


@dataclass
class LargeHistory:
    """Fills an empty, migrated database."""

    sessions: Sessions
    clock: FakeClock
    rng: np.random.Generator
    num_points: int = 0
    num_results: int = 0
    num_others: int = 0

    def fill(self, num_points: int) -> None:
        """So many points with results, a tenth of them of one sweep."""
        self._register()
        num_batches = max(2, num_points // SHARE_OF_GRID // POINTS_A_BATCH)
        grid = {**GRID, "batch": [3 * number + 1 for number in range(num_batches)]}
        self._measure(self._submit(grid, name="everything", replicates=1), self._now(KINDS[0], 0))
        kinds = cycle(KINDS)
        for night in range(NUM_NIGHTS):
            self.clock.now = BEGAN + timedelta(days=night)
            if night == NUM_NIGHTS - JUDGED_NIGHTS:
                self._schedule()
            for kind in KINDS:
                self._night(kind, night)
            while self.num_points < num_points * (night + 1) // NUM_NIGHTS:
                self._other(next(kinds))

    def _register(self) -> None:
        with self.sessions.writing() as session:
            for kind in KINDS:
                for name in kind.nodes:
                    facts = NodeFacts(
                        name=name,
                        address="10.0.0.1",
                        hardware=kind.hardware,
                        num_slots=8,
                        slot_memory_bytes=80 << 30,
                        environment=self._now(kind, NUM_NIGHTS).environment(name),
                        topology="eight devices",
                    )
                    fleet.register(session, facts, pool=kind.name)

    def _schedule(self) -> None:
        with self.sessions.writing() as session:
            for kind in KINDS:
                asked = {"name": f"nightly-{kind.name}", "cron": "0 2 * * *", "sweep": NIGHTLY}
                spec = ScheduleSpec.model_validate(asked)
                schedules.create(session, spec, created_by="alice")

    def _night(self, kind: Kind, night: int) -> None:
        policy = f"nightly-{kind.name}"
        tags = {TAG: policy, "commit": f"c{night:03}"}
        sweep_id = self._submit(NIGHTLY, name=policy, replicates=NUM_NODES, tags=tags)
        self._measure(sweep_id, self._now(kind, night, _planted(night)))

    def _other(self, kind: Kind) -> None:
        turn, self.num_others = self.num_others, self.num_others + 1
        asked = {
            "models": MODELS[turn % len(MODELS)],
            "blocks": ["mlp", "attention"],
            "phase": ("train", "prefill", "decode")[turn % 3],
            "tp_degree": [1, 2, 4, 8],
            "batch": [2**k for k in range(15)],
            "tags": {"commit": f"c{turn % 97:03}", "team": f"team {turn % 7}"},
        }
        self.clock.advance(60)
        name = f"{asked['models']} on {kind.name}, try {turn}"
        sweep_id = self._submit(asked, name=name, replicates=1 + turn % 3)
        self._measure(sweep_id, self._now(kind, 0, has_failures=turn % 20 == 0))

    def _submit(
        self, asked: Mapping[str, object], *, name: str, replicates: int, **more: object
    ) -> str:
        spec = SweepSpec.model_validate({**asked, "name": name, "replicates": replicates, **more})
        expansion = spec.expand()
        with self.sessions.writing() as session:
            return sweeps.create(session, spec, created_by="alice", seed=1, expansion=expansion).id

    def _now(
        self,
        kind: Kind,
        night: int,
        slower: Callable[[str], float] = lambda _node: 1.0,
        *,
        has_failures: bool = False,
    ) -> Conditions:
        is_new = night >= ROLL_OUT_NIGHT
        return Conditions(
            kind=kind,
            at=self.clock.now,
            driver="590.12" if is_new else "580.65",
            nccl="2.28.1" if is_new else "2.27.3",
            slower=slower,
            has_failures=has_failures,
            has_samples=self.clock.now >= BEGAN + timedelta(days=NUM_NIGHTS - NIGHTS_WITH_SAMPLES),
        )

    def _measure(self, sweep_id: str, conditions: Conditions) -> None:
        with self.sessions.writing() as session:
            points, results = bulk_results.measure(session, sweep_id, conditions, self.rng)
        self.num_points += points
        self.num_results += results


def _planted(night: int) -> Callable[[str], float]:
    """A roll-out that slows all by 4 %, and one node that becomes slow by 9 %."""

    def slower(node: str) -> float:
        rolled_out = 1.04 if night >= ROLL_OUT_NIGHT else 1.0
        is_slow = node.endswith("-03") and night >= SLOW_NODE_NIGHT
        return rolled_out * (1.09 if is_slow else 1.0)

    return slower


def repeat_findings(sessions: Sessions, num_findings: int) -> None:
    """As many as years bring, of those that were found. ValueError where none was."""
    with sessions.writing() as session:
        rows = [dict(row) for row in session.execute(select(FindingRow.__table__)).mappings()]
        if not rows:
            raise ValueError("nothing was found in the nights: pages of findings would be empty")
        copies = [
            {**rows[number % len(rows)], "id": new}
            for number, new in enumerate(new_ids(num_findings))
        ]
        session.execute(insert(FindingRow), copies)
