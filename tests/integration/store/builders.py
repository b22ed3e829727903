"""Sweeps, offers and results with only what a test is about spelled out."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from service.store import fleet, queue, sweeps
from service.store.engine import Sessions
from service.store.leases import Failure, Lease, Offer
from service.store.sweep import Sweep
from tests.narrowing import block_of
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE, steps, timing, trial
from workers.contract.axes import Pass
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.shapes import ModelShape
from workers.contract.sweep import SweepSpec, Where
from workers.contract.trial import TrialResult

SHAPE = ModelShape.model_validate(
    {"name": "tiny", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 8}
)
OFFER = Offer(hardware_key=HARDWARE.hardware_key, accelerator="Test CPU", num_slots=4)
TTL = timedelta(seconds=30)
FAILURE = Failure(
    code="rank_lost",
    message="rank 1 died",
    rank=1,
    signal=9,
    node="node-1",
    log_tail="last words\0 and half a \ud83d",
)


@dataclass
class FakeClock:
    """Stands in for the database's clock and moves only when told to."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def sweep_spec(
    *,
    batches: int = 2,
    degrees: tuple[int, ...] = (1, 2),
    replicates: int = 1,
    priority: int = 0,
    accelerator: str | None = None,
    tags: dict[str, str] | None = None,
    name: str = "",
) -> SweepSpec:
    """An MLP; one point for each batch and degree."""
    return SweepSpec(
        name=name,
        models=(SHAPE,),
        blocks=("mlp",),
        tp_degree=degrees,
        batch=tuple(range(1, batches + 1)),
        replicates=replicates,
        priority=priority,
        where=Where(accelerator=accelerator),
        tags=tags or {},
    )


ONE_TRIAL = sweep_spec(batches=1, degrees=(2,))


def submit(sessions: Sessions, spec: SweepSpec | None = None, *, seed: int = 1) -> Sweep:
    spec = spec or sweep_spec()
    with sessions.writing() as session:
        return sweeps.create(session, spec, created_by="test", seed=seed, expansion=spec.expand())


def claim(
    sessions: Sessions,
    *,
    owner: str = "owner",
    offer: Offer = OFFER,
    ttl: timedelta = TTL,
    prefer: tuple[str, int] | None = None,
) -> Lease | None:
    with sessions.writing() as session:
        return queue.claim(session, owner=owner, offer=offer, ttl=ttl, prefer=prefer)


def claimed(
    sessions: Sessions,
    *,
    owner: str = "owner",
    offer: Offer = OFFER,
    prefer: tuple[str, int] | None = None,
) -> Lease:
    """A claim that must find something."""
    lease = claim(sessions, owner=owner, offer=offer, prefer=prefer)
    assert lease is not None
    return lease


def find(sessions: Sessions, sweep_id: str) -> Sweep:
    with sessions.reading() as session:
        return sweeps.find(session, sweep_id)


def node(hardware: Hardware = HARDWARE, *, name: str = "node-1", num_slots: int = 4) -> NodeFacts:
    return NodeFacts(
        name=name,
        address="127.0.0.1",
        hardware=hardware,
        num_slots=num_slots,
        slot_memory_bytes=1 << 30,
        environment=ENVIRONMENT,
        topology="two cores",
    )


def register(sessions: Sessions, facts: NodeFacts | None = None) -> None:
    with sessions.writing() as session:
        fleet.register(session, facts or node(), pool="pool")


def result_of(lease: Lease, *, step_ns: tuple[int, ...] = (1000, 2000, 3000)) -> TrialResult:
    """What `lease` measured: every rank the same steps in each pass."""
    ranks = (steps(step_ns, [step // 2 for step in step_ns]),) * lease.spec.tp_degree
    collectives = [timing([10, 20, 30], [1, 2, 3])] if lease.spec.tp_degree > 1 else []
    return trial(dict.fromkeys(Pass, ranks), collectives=collectives, spec=block_of(lease.spec))


def complete(sessions: Sessions, lease: Lease) -> None:
    with sessions.writing() as session:
        queue.complete(session, lease, result_of(lease))


def run_all(sessions: Sessions) -> int:
    """Claim and complete until nothing is left; how many it were."""
    register(sessions)
    count = 0
    while lease := claim(sessions):
        complete(sessions, lease)
        count += 1
    return count
