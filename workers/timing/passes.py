"""Runs the passes of a trial: warm-up by criterion, then rounds in which all passes take turns.

The passes run the same step in three ways: CLEAN with nothing of ours inside but three stamps, for
the headline; SPLIT with spans around each collective; COMPUTE with collectives replaced by no-ops.
Of a step that overlaps, SPLIT has spans around the collectives that it waits for, and STANDALONE
runs the others bare.
They take turns within a round, and the turn order is reversed from round to round, so that drift of
the host falls on all alike. Two points of a pair take their turns next to each other, A B, B A, B A
and A B in four rounds, which are whole before anything is judged, and in the next four the other
way about: what a turn finds in the caches is what the one before it left there, and so both come
equally often after themselves and after the other. With A B, B A alone the second of two equal
points took 2 % less. Between judgements comes the control, for a few percent of the time; the first
turn after it takes longer, and with A always the first B took 0.7 % less.
"""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from statistics import median

from workers.contract.axes import Pass
from workers.contract.sweep import Sampling
from workers.contract.trial import PassSamples
from workers.timing.clocks import Clock, Step, StepTime
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
ROUNDS_OF_A_PAIR = 4
"""Before it is judged."""
CONTROL_SHARE = 0.03
"""Of the time in timed steps, what each control pass may take."""
LARGEST_CONTROL_TURN = 16

Steps = Mapping[Pass, Step]
"""A point's step in each of its passes."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the rounds gave on this rank."""

    passes: tuple[dict[Pass, PassSamples], ...]
    """Of each point; the control, which is theirs together, is in all of them."""
    stop_rules: tuple[StopRule, ...]
    timed_ns: int


@dataclass(slots=True)
class _Track:
    """One pass of one point, and its times so far."""

    step: Step
    own: list[StepTime] = field(default_factory=list)
    """On this rank."""
    slowest: list[int] = field(default_factory=list)
    """The step on the slowest rank: all ranks judge by these, and so judge alike."""

    def run(self, times: int, clock: Clock, peers: Peers) -> None:
        self.own += [_time(self.step, clock, peers) for _ in range(times)]

    def samples(self) -> PassSamples:
        enqueue = tuple(time.enqueue_ns for time in self.own if time.enqueue_ns is not None)
        return PassSamples(
            step_ns=tuple(time.step_ns for time in self.own),
            forward_ns=tuple(time.forward_ns for time in self.own),
            enqueue_ns=enqueue or None,
        )


def warm_up(steps: Steps, *, clock: Clock, peers: Peers, sampling: Sampling) -> int:
    """Run clean steps until they have settled, then one step of each other pass; return how many.

    The first steps hold lazy creation of buffers and connections and a rising clock.
    """
    previous, spent, num_steps = None, 0, 0
    for _ in range(MOST_WARM_UP_BATCHES):
        times = [_time(steps[Pass.CLEAN], clock, peers).step_ns for _ in range(WARM_UP_BATCH)]
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
    points: Sequence[Steps], control: Steps, *, clock: Clock, peers: Peers, sampling: Sampling
) -> Sampled:
    """Run rounds until the stopping rule has ended every point: one, or the two of a pair.

    The sampling's time limit is for each point. All ranks stop after the same round.
    """
    tracks = [{kind: _Track(step) for kind, step in steps.items()} for steps in points]
    beside = {kind: _Track(step) for kind, step in control.items()}
    rounds = _Rounds(tracks, beside, clock=clock, peers=peers)
    stoppings = [Stopping(sampling) for _ in points]
    rules: list[StopRule | None] = [None for _ in points]
    gc.collect()
    gc.disable()
    try:
        while not all(rules):
            rounds.run()
            share_ns = rounds.timed_ns // len(points)
            rules = [
                rule or stopping.judge(track[Pass.CLEAN].slowest, timed_ns=share_ns)
                for rule, stopping, track in zip(rules, stoppings, tracks, strict=True)
            ]
    finally:
        gc.enable()
    return Sampled(
        passes=tuple({kind: t.samples() for kind, t in (own | beside).items()} for own in tracks),
        stop_rules=tuple(rule for rule in rules if rule),
        timed_ns=rounds.timed_ns,
    )


class _Rounds:
    """The turns of all passes, round after round."""

    def __init__(
        self,
        points: Sequence[Mapping[Pass, _Track]],
        control: Mapping[Pass, _Track],
        *,
        clock: Clock,
        peers: Peers,
    ) -> None:
        self._clean = [tracks[Pass.CLEAN] for tracks in points]
        self._tracks = [t[kind] for t in points for kind in t]
        self._orders = cycle(_orders(points))
        self._num_rounds = ROUNDS_OF_A_PAIR if len(points) > 1 else 1
        self._control = list(control.values())
        self._clock, self._peers = clock, peers
        self._num_per_round = 1
        self.timed_ns = 0

    def run(self) -> None:
        """One round of a single point, of a pair one in each order; then the control."""
        counts = [_due(track, self.timed_ns) for track in self._control]
        for turns in islice(self._orders, self._num_rounds):
            for track in turns:
                track.run(self._num_per_round, self._clock, self._peers)
        for track, count in zip(self._control, counts, strict=True):
            track.run(count, self._clock, self._peers)
        self._share(counts)
        typical = max(median(track.slowest) for track in self._clean)
        self._num_per_round = max(1, min(LARGEST_ROUND, int(ROUND_NS / typical)))

    def _share(self, control_counts: Sequence[int]) -> None:
        """Exchange the new step times, so that every rank judges the same numbers."""
        num_new = self._num_per_round * self._num_rounds
        new = [(track, num_new) for track in self._tracks]
        new += zip(self._control, control_counts, strict=True)
        mine = [
            time.step_ns for track, count in new for time in track.own[len(track.own) - count :]
        ]
        worst = [max(column) for column in zip(*self._peers.exchange(mine), strict=True)]
        self.timed_ns += sum(worst)
        place = 0
        for track, count in new:
            track.slowest += worst[place : place + count]
            place += count


def _orders(points: Sequence[Mapping[Pass, _Track]]) -> list[list[_Track]]:
    """Turns of the passes forwards and backwards; of a pair A B, B A, B A, A B and the reverse."""
    orders = []
    both_ways = (points, points[::-1], points[::-1], points)
    for own in both_ways if len(points) > 1 else [points]:
        turns = [tracks[kind] for kind in Pass for tracks in own if kind in tracks]
        orders += [turns, turns[::-1]]
    return orders


def _due(control: _Track, timed_ns: int) -> int:
    """How often a control pass runs after the coming round, to stay within its share."""
    if not control.slowest:
        return 1
    left_ns = CONTROL_SHARE * timed_ns - sum(control.slowest)
    return max(0, min(LARGEST_CONTROL_TURN, int(left_ns / median(control.slowest))))


def _time(step: Step, clock: Clock, peers: Peers) -> StepTime:
    peers.begin_together()
    taken = clock.time(step)
    return taken if step.has_backward else taken._replace(forward_ns=taken.step_ns)
