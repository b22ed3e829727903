"""Sweeps measured without devices: trials go through the real queue, their times are made up."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from service.store import fleet, queue, sweeps
from service.store.engine import Sessions
from service.store.leases import Lease, Offer
from tests.narrowing import block_of
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE, SHAPE, steps, timing, trial
from workers.contract.axes import Block, Pass
from workers.contract.hardware import NodeFacts
from workers.contract.pair import Pair
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec
from workers.contract.trial import TrialResult
from workers.contract.workload import expected_messages

TTL = timedelta(seconds=30)
OFFER = Offer(HARDWARE.hardware_key, HARDWARE.accelerator, 2)

StepTime = Callable[[Lease], tuple[int, int]]
"""Of a trial two times in ns: step and compute-only step."""
TurnTimes = Callable[[Lease], tuple[Sequence[int], Sequence[int]]]
"""Of a pair's trial the steps of both points in ns, turn by turn."""


def measure_sweep(
    sessions: Sessions, step_time: StepTime, *, batches: tuple[int, ...] = (1, 4, 16, 64)
) -> str:
    """Submit an MLP at tp_degree 1 and 2 and complete every trial of it; return the sweep's id."""
    spec = SweepSpec(models=(SHAPE,), blocks=(Block.MLP,), tp_degree=(1, 2), batch=batches)
    with sessions.writing() as session:
        fleet.register(session, node(), pool="default")
        sweep = sweeps.create(session, spec, created_by="test", seed=1, expansion=spec.expand())
    while lease := claim(sessions):
        with sessions.writing() as session:
            queue.start(session, lease)
            queue.complete(session, lease, result_of(block_of(lease.spec), *step_time(lease)))
    return sweep.id


def measure_pair(sessions: Sessions, pair: Pair, turns: TurnTimes) -> str:
    """The same of one point by turns with another; it gives the steps of the two."""
    spec = SweepSpec(
        models=(SHAPE,), blocks=(Block.MLP,), tp_degree=(2,), batch=(4,), replicates=5, pair=pair
    )
    with sessions.writing() as session:
        fleet.register(session, node(), pool="default")
        sweep = sweeps.create(session, spec, created_by="test", seed=1, expansion=spec.expand())
    while lease := claim(sessions):
        assert lease.pair_spec is not None
        first, second = turns(lease)
        result = _result(block_of(lease.spec), first, first[0])
        other = _result(block_of(lease.pair_spec), second, second[0])
        with sessions.writing() as session:
            queue.start(session, lease)
            queue.complete(session, lease, result.model_copy(update={"pair": other}))
    return sweep.id


def node() -> NodeFacts:
    return NodeFacts(
        name="node-1",
        address="127.0.0.1",
        hardware=HARDWARE,
        num_slots=2,
        slot_memory_bytes=1 << 30,
        environment=ENVIRONMENT,
        topology="2 cores",
    )


def result_of(spec: PointSpec, step_ns: int, compute_ns: int) -> TrialResult:
    """Three steps, the last two a little longer; each collective takes a tenth of a step."""
    return _result(spec, [step_ns, step_ns + 2, step_ns + 4], compute_ns)


def _result(spec: PointSpec, step_ns: Sequence[int], compute_ns: int) -> TrialResult:
    ranks = spec.tp_degree
    clean = steps(step_ns, [step_ns[0] // 3] * len(step_ns))
    samples = {Pass.CLEAN: (clean,) * ranks}
    if ranks > 1:
        samples[Pass.SPLIT] = samples[Pass.CLEAN]
        samples[Pass.COMPUTE] = (steps([compute_ns] * 3),) * ranks
    return trial(
        samples,
        collectives=[
            timing([step_ns[0] // 10] * 3, [0, 0, 0], where=message.where)
            for message in expected_messages(spec)
        ],
        spec=spec,
    )


def claim(sessions: Sessions) -> Lease | None:
    with sessions.writing() as session:
        return queue.claim(session, owner="test", offer=OFFER, ttl=TTL)
