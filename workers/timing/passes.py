"""Runs the passes of a trial: warm-up by criterion, then rounds in which all passes take turns.

The passes run the same step in three ways: CLEAN with nothing of ours inside but three stamps, for
the headline; SPLIT with spans around each collective; COMPUTE with collectives replaced by no-ops.
They take turns within a round, and the turn order is reversed from round to round, so that drift of
the host falls on all alike.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from workers.contract.axes import Pass
from workers.contract.sweep import Sampling
from workers.contract.trial import PassSamples
from workers.timing.clocks import Clock, Step
from workers.timing.peers import Peers
from workers.timing.stopping import Stopping, StopRule

WARM_WITHIN = 0.1
"""Warm once the medians of two batches of steps in a row agree this well."""
WARM_UP_BATCH = 3
MOST_WARM_UP_BATCHES = 10
WARM_UP_SHARE = 0.25
"""Of the trial's time limit, the most that warming up may take."""
ROUND_NS = 10_000_000
"""Aim of one pass in one round: short against the host's drift."""
LARGEST_ROUND = 64


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the rounds gave on this rank."""

    passes: dict[Pass, PassSamples]
    stop_rule: StopRule
    timed_ns: int


def warm_up(steps: Mapping[Pass, Step], *, clock: Clock, peers: Peers, sampling: Sampling) -> int:
    """Run clean steps until they have settled, then one step of each other pass; return how many.

    The first steps hold lazy creation of buffers and connections and a rising clock.
    """
    previous, spent, num_steps = None, 0, 0
    for _ in range(MOST_WARM_UP_BATCHES):
        times = [_time(steps[Pass.CLEAN], clock, peers)[1] for _ in range(WARM_UP_BATCH)]
        slowest = [max(column) for column in zip(*peers.exchange(times), strict=True)]
        num_steps += len(slowest)
        spent += sum(slowest)
        middle = median(slowest)
        if previous is not None and abs(middle - previous) <= WARM_WITHIN * previous:
            break
        if spent >= WARM_UP_SHARE * sampling.max_time_s * 1e9:
            break
        previous = middle
    for kind, step in steps.items():
        if kind is not Pass.CLEAN:
            _time(step, clock, peers)
    return num_steps


def sample(
    steps: Mapping[Pass, Step], *, clock: Clock, peers: Peers, sampling: Sampling
) -> Sampled:
    """Run rounds until the stopping rule ends them. All ranks stop after the same round."""
    times: dict[Pass, list[tuple[int, int]]] = {kind: [] for kind in steps}
    slowest: dict[Pass, list[int]] = {kind: [] for kind in steps}
    stopping, turns, num_per_round = Stopping(sampling), list(steps), 1
    gc.collect()
    gc.disable()
    try:
        while True:
            for kind in turns:
                new = [_time(steps[kind], clock, peers) for _ in range(num_per_round)]
                times[kind] += new
            turns.reverse()
            _share(times, slowest, peers=peers, num_new=num_per_round)
            timed_ns = sum(map(sum, slowest.values()))
            if rule := stopping.judge(slowest[Pass.CLEAN], timed_ns=timed_ns):
                return Sampled(_as_samples(times), rule, timed_ns)
            typical = median(slowest[Pass.CLEAN])
            num_per_round = max(1, min(LARGEST_ROUND, int(ROUND_NS / typical)))
    finally:
        gc.enable()


def _time(step: Step, clock: Clock, peers: Peers) -> tuple[int, int]:
    peers.begin_together()
    forward_ns, step_ns = clock.time(step)
    return (forward_ns if step.has_backward else step_ns), step_ns


def _share(
    times: Mapping[Pass, list[tuple[int, int]]],
    slowest: dict[Pass, list[int]],
    *,
    peers: Peers,
    num_new: int,
) -> None:
    """Exchange the round's step times, so that every rank judges the same numbers."""
    mine = [step for rows in times.values() for _, step in rows[-num_new:]]
    worst = [max(column) for column in zip(*peers.exchange(mine), strict=True)]
    for place, rows in enumerate(slowest.values()):
        rows.extend(worst[place * num_new : (place + 1) * num_new])


def _as_samples(times: Mapping[Pass, list[tuple[int, int]]]) -> dict[Pass, PassSamples]:
    return {
        kind: PassSamples(
            step_ns=tuple(step for _, step in rows), forward_ns=tuple(part for part, _ in rows)
        )
        for kind, rows in times.items()
    }
