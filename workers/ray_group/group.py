"""A worker group on Ray, as a state machine that never waits: its owner's loop polls it."""

from collections.abc import Sequence
from itertools import chain
from typing import cast

from ray import ObjectRef
from ray.actor import ActorHandle

from workers.contract.group import RankFacts, Rendezvous
from workers.contract.group_events import (
    GroupEnded,
    GroupEvent,
    GroupFailed,
    GroupReady,
    Loss,
    TrialFailed,
    TrialMeasured,
)
from workers.contract.trial import RankResult, TrialOrder
from workers.ray_group.actor import Reservation
from workers.ray_group.agent import NodeAgent
from workers.ray_group.causes import hang, not_placed, overrun
from workers.ray_group.crew import Crew
from workers.ray_group.inquest import Finding, Inquest
from workers.ray_group.last_words import LastWords
from workers.ray_group.phase import OVER, Phase
from workers.ray_group.request import GroupRequest
from workers.ray_group.vitals import Vitals

_EXAMINE_LIMIT_S = 3.0


class RayGroup:
    """`num_ranks` actors, usually on one node. All methods return at once; `poll` moves things on.

    The first failure ends the whole group: the peers of a dead rank would wait until their timeout.
    """

    def __init__(self, request: GroupRequest, *, agents: Sequence[ActorHandle[NodeAgent]]) -> None:
        """Begin to start; GroupReady or GroupFailed comes by `poll`. One agent for each host."""
        self.request = request
        self._timings = request.timings
        self._crew = Crew(request, agents)
        self._phase = Phase.RESERVING
        self._calls = self._crew.await_devices()
        self._vitals: Vitals | None = None
        self._inquest: Inquest | None = None
        self._finding: Finding | None = None
        self._ranks: tuple[RankFacts, ...] = ()
        self._degrees = request.degrees
        self._port = 0
        self._generation = 0
        self._trial_id: str | None = None
        self._events: list[GroupEvent] = []

    @property
    def group_id(self) -> str:
        """As requested."""
        return self.request.group_id

    @property
    def is_ready(self) -> bool:
        """Whether `submit` and `regroup` may be called."""
        return self._phase is Phase.READY

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it is left."""
        return self._phase is Phase.ENDED

    @property
    def degrees(self) -> tuple[int, ...]:
        """Sub-groups that exist, or will when it is ready."""
        return self._degrees

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes by rank; empty until they have started."""
        return self._crew.pids

    @property
    def refs(self) -> list[ObjectRef[object]]:
        """What the owner may wait for: whichever comes first is worth a poll."""
        return [*self._calls.refs, *(self._vitals.refs if self._vitals else ())]

    def submit(self, order: TrialOrder) -> None:
        """Measure on ranks 0..tp_degree-1; TrialMeasured, TrialFailed or GroupFailed follows."""
        self._trial_id = order.trial_id
        self._phase = Phase.MEASURING
        self._calls = self._crew.call(
            "measure",
            lambda actor: actor.measure.remote(order),
            limit_s=order.deadline_s + self._timings.overtime_s,
            num_ranks=order.point.tp_degree,
        )

    def regroup(self, degrees: tuple[int, ...]) -> None:
        """Take the group apart and form it anew in the same processes; GroupReady follows."""
        self._degrees = degrees
        self._phase = Phase.LEAVING
        limit_s = self._timings.rendezvous_timeout_s
        self._calls = self._crew.call("leave", lambda actor: actor.leave.remote(), limit_s=limit_s)

    def end(self) -> None:
        """Kill every process and give the devices back, whatever goes on; GroupEnded follows."""
        if self._phase not in (Phase.ENDING, Phase.ENDED):
            self._vitals = None
            self._phase = Phase.ENDING
            self._calls = self._crew.dismiss()

    def poll(self) -> list[GroupEvent]:
        """Take in what has come, move on, and return what the owner should know."""
        self._events = []
        self._calls.collect()
        if self._phase not in OVER:
            self._look_for_failures()
        match self._phase:
            case Phase.FAILING:
                self._hear_the_others()
            case Phase.EXAMINING:
                self._conclude()
            case Phase.ENDING:
                self._check_that_all_is_gone()
            case Phase.READY | Phase.ENDED:
                pass
            case _ if not self._calls.missing:
                self._move_on()
            case _:
                pass
        return self._events

    def _move_on(self) -> None:
        """The current step is done on every rank."""
        answers = [self._calls.answers[rank] for rank in sorted(self._calls.answers)]
        match self._phase:
            case Phase.RESERVING:
                self._phase, self._calls = Phase.STARTING, self._crew.start()
            case Phase.STARTING:
                reservations = cast("list[Reservation]", answers)
                self._phase, self._calls = Phase.SETTING_UP, self._crew.assign(reservations)
            case Phase.SETTING_UP:
                self._ranks = tuple(cast("list[RankFacts]", answers))
                self._vitals = Vitals(self._crew, self._timings, num_ranks=len(self._ranks))
                self._phase, self._calls = Phase.OPENING_STORE, self._crew.open_store()
            case Phase.OPENING_STORE:
                self._port = cast("int", answers[0])
                self._join()
            case Phase.LEAVING:
                self._generation += 1
                self._join()
            case Phase.JOINING:
                self._phase = Phase.READY
                self._events.append(GroupReady(self._generation, self._ranks))
            case _:
                self._finish(cast("list[RankResult]", answers))

    def _join(self) -> None:
        rendezvous = Rendezvous(
            host=self.request.address,
            port=self._port,
            prefix=f"{self.request.group_id}/{self._generation}",
            timeout_s=self._timings.rendezvous_timeout_s,
            degrees=self._degrees,
        )
        limit_s = self._timings.rendezvous_timeout_s + self._timings.overtime_s
        self._phase = Phase.JOINING
        self._calls = self._crew.call(
            "join", lambda actor: actor.join.remote(rendezvous), limit_s=limit_s
        )

    def _finish(self, results: Sequence[RankResult]) -> None:
        trial_id, self._trial_id, self._phase = self._trial_id or "", None, Phase.READY
        self._events.append(TrialMeasured(trial_id, tuple(results)))

    def _look_for_failures(self) -> None:
        """Errors of the step and of the signs of life; silence; steps that take too long."""
        errors = self._calls.errors | (self._vitals.collect() if self._vitals else {})
        silent = self._vitals.silent() if self._vitals else {}
        if errors:
            self._inquest = Inquest(grace_s=self._timings.grace_s)
            self._inquest.hear(errors)
            self._phase = Phase.FAILING
        elif silent:
            rank, seconds = next(iter(silent.items()))
            self._examine(
                Finding(
                    rank=rank,
                    hung=(rank,),
                    name=lambda words: hang(rank, silent_for_s=seconds, words=words),
                )
            )
        elif self._calls.is_overdue and self._phase is Phase.RESERVING:
            self._fail(not_placed(self._crew.placement_state(), request=self.request))
        elif self._calls.is_overdue:
            late = tuple(self._calls.missing)
            step, limit_s = self._calls.step, self._calls.limit_s
            self._examine(
                Finding(
                    rank=late[0],
                    hung=late,
                    name=lambda words: overrun(step, late=late, limit_s=limit_s, words=words),
                )
            )

    def _hear_the_others(self) -> None:
        if self._inquest is None:
            return
        self._inquest.hear(self._calls.errors)
        if self._vitals:
            self._inquest.hear(self._vitals.collect())
        finding = self._inquest.finding(all_answered=not self._calls.missing)
        if finding is None:
            return
        if finding.spares_the_group and self._trial_id:
            trial_id, self._trial_id = self._trial_id, None
            self._events.append(TrialFailed(trial_id, finding.name(None)))
            self.regroup(self._degrees)
        else:
            self._examine(finding)

    def _examine(self, finding: Finding) -> None:
        self._finding = finding
        self._phase = Phase.EXAMINING
        self._calls = self._crew.examine(
            died=finding.died, hung=finding.hung, limit_s=_EXAMINE_LIMIT_S
        )

    def _conclude(self) -> None:
        if self._finding is None or (self._calls.missing and not self._calls.is_overdue):
            return
        answers = cast("list[list[LastWords]]", list(self._calls.answers.values()))
        found = chain.from_iterable(answers)
        pid = self._crew.pid_of(self._finding.rank)
        self._fail(self._finding.name(next((words for words in found if words.pid == pid), None)))

    def _fail(self, loss: Loss) -> None:
        trial_id, self._trial_id = self._trial_id, None
        self._events.append(GroupFailed(trial_id, loss))
        self.end()

    def _check_that_all_is_gone(self) -> None:
        is_gone = not self._calls.missing and self._crew.has_returned_devices()
        if is_gone or self._calls.is_overdue:
            leftover = chain.from_iterable(
                cast("list[list[int]]", list(self._calls.answers.values()))
            )
            self._phase = Phase.ENDED
            self._events.append(GroupEnded(tuple(leftover)))
