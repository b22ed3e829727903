"""A dispatcher's part, done by hand: claims trials and completes them with given step times."""

from collections.abc import Callable
from datetime import timedelta

from service.store import fleet, queue
from service.store.engine import Sessions
from service.store.leases import Failure, Lease, Offer
from tests.narrowing import block_of
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE, steps, timing, trial
from workers.contract.axes import Pass
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.probe import Probe
from workers.contract.trial import TrialResult
from workers.contract.workload import expected_messages

StepTime = Callable[[PointSpec], float]
"""Microseconds of a step."""
ProbeTime = Callable[[Probe], float]
"""Microseconds of a probe."""

NODE = NodeFacts(
    name="node-1",
    address="127.0.0.1",
    hardware=HARDWARE,
    num_slots=4,
    slot_memory_bytes=8 << 30,
    environment=ENVIRONMENT,
    topology="one socket",
)
OFFER = Offer(HARDWARE.hardware_key, HARDWARE.accelerator, NODE.num_slots)
TTL = timedelta(seconds=30)
BODY = {
    "models": "pythia-31m",
    "blocks": "mlp",
    "tp_degree": [1, 2],
    "batch": [1, 64],
    "replicates": 2,
}


def register(sessions: Sessions) -> None:
    """Let the fleet know the node."""
    with sessions.writing() as session:
        fleet.register(session, NODE, pool="default")


def measure_all(sessions: Sessions, step_us: StepTime, *, quality: tuple[str, ...] = ()) -> int:
    """Measure every queued trial; return how many there were."""
    register(sessions)
    count = 0
    while lease := claim(sessions):
        complete(sessions, lease, step_us(block_of(lease.spec)), quality=quality)
        count += 1
    return count


def calibrate_all(sessions: Sessions, probe_us: ProbeTime) -> int:
    """Measure every queued probe; return how many there were."""
    count = 0
    while lease := claim(sessions):
        assert not isinstance(lease.spec, PointSpec)
        with sessions.writing() as session:
            queue.complete(session, lease, _probed(lease.spec, probe_us(lease.spec)))
        count += 1
    return count


def claim(sessions: Sessions) -> Lease | None:
    """Take and start one trial."""
    with sessions.writing() as session:
        lease = queue.claim(session, owner="test", offer=OFFER, ttl=TTL)
    if lease is not None:
        with sessions.writing() as session:
            queue.start(session, lease)
    return lease


def complete(
    sessions: Sessions, lease: Lease, step_us: float, *, quality: tuple[str, ...] = ()
) -> None:
    """End the trial with a result, of both points where it is of a pair."""
    result = _result(block_of(lease.spec), step_us).model_copy(update={"quality": quality})
    if lease.pair_spec is not None:
        pair = _result(block_of(lease.pair_spec), step_us)
        result = result.model_copy(update={"pair": pair})
    with sessions.writing() as session:
        queue.complete(session, lease, result)


def fail(sessions: Sessions, lease: Lease) -> None:
    """End the trial for good, without a result."""
    failure = Failure("out_of_memory", "no room for 3 GiB", rank=1, is_final=True, log_tail="oom")
    with sessions.writing() as session:
        queue.fail(session, lease, failure, retry=False)


def _result(spec: PointSpec, step_us: float) -> TrialResult:
    step_ns = [round(step_us * 1e3 * (1 + spread / 100)) for spread in range(-2, 3)]
    compute_ns = [round(ns * (0.8 if spec.tp_degree > 1 else 1)) for ns in step_ns]
    ranks = range(spec.tp_degree)
    clean = steps(step_ns, [ns // 3 for ns in step_ns])
    compute = steps(compute_ns, [ns // 3 for ns in compute_ns])
    return trial(
        {
            Pass.CLEAN: tuple(clean for _ in ranks),
            Pass.SPLIT: tuple(clean for _ in ranks),
            Pass.COMPUTE: tuple(compute for _ in ranks),
        },
        collectives=[
            timing(
                [ns // 20 for ns in step_ns],
                [ns // 100 for ns in step_ns],
                where=one.where,
                message_bytes=one.message_bytes,
            )
            for one in expected_messages(spec)
        ],
        spec=spec,
    )


def _probed(spec: Probe, time_us: float) -> TrialResult:
    time_ns = [round(time_us * 1e3)] * 3
    ranks = tuple(steps(time_ns) for _ in range(spec.tp_degree))
    collectives = [
        timing(time_ns, [0, 0, 0], where=one.where, message_bytes=one.message_bytes)
        for one in expected_messages(spec)
    ]
    samples = {Pass.CLEAN: ranks} | ({Pass.SPLIT: ranks} if collectives else {})
    return trial(samples, collectives=collectives, spec=spec)
