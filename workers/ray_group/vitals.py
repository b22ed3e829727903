import time

import ray
from ray import ObjectRef
from ray.exceptions import RayError

from workers.ray_group.calls import Calls
from workers.ray_group.crew import Crew
from workers.ray_group.request import GroupTimings


class Vitals:
    """Signs of life of every rank, from when they are set up.

    A vigil (a call that never returns) ends at once when its process dies. Pings, on their own
    timer, find those that live but do not answer, and re-arm each rank's self-destruct.
    """

    def __init__(self, crew: Crew, timings: GroupTimings, *, num_ranks: int) -> None:
        self._crew = crew
        self._timings = timings
        self._num_ranks = num_ranks
        self._vigil: Calls = crew.call("vigil", crew.keep_vigil, limit_s=float("inf"))
        self._pings: dict[int, tuple[ObjectRef[object], float]] = {}
        self._next_ping_at = 0.0

    @property
    def refs(self) -> list[ObjectRef[object]]:
        """What is awaited."""
        return [*self._vigil.refs, *(ref for ref, _ in self._pings.values())]

    def collect(self) -> dict[int, RayError]:
        """Take in what has come and ping who is due; return the errors by rank."""
        self._vigil.collect()
        errors = self._collect_pings()
        self._ping()
        return self._vigil.errors | errors

    def silent(self) -> dict[int, float]:
        """Ranks that owe an answer for too long, and for how long. Judge after `collect`."""
        now = time.monotonic()
        patience_s = self._timings.ping_interval_s * self._timings.max_missed_pings
        waited = {rank: now - since for rank, (_, since) in self._pings.items()}
        return {rank: seconds for rank, seconds in waited.items() if seconds > patience_s}

    def _collect_pings(self) -> dict[int, RayError]:
        errors: dict[int, RayError] = {}
        refs = [ref for ref, _ in self._pings.values()]
        ready = set(ray.wait(refs, num_returns=len(refs), timeout=0)[0]) if refs else set()
        for rank in [rank for rank, (ref, _) in self._pings.items() if ref in ready]:
            ref, _ = self._pings.pop(rank)
            try:
                ray.get(ref, timeout=1)
            except RayError as error:
                errors[rank] = error
        return errors

    def _ping(self) -> None:
        """Nothing is sent to a rank that still owes an answer."""
        now = time.monotonic()
        if now < self._next_ping_at:
            return
        self._next_ping_at = now + self._timings.ping_interval_s
        for rank in range(self._num_ranks):
            if rank not in self._pings:
                ref = self._crew.ping(rank, ttl_s=self._timings.rank_ttl_s)
                self._pings[rank] = (ref, now)
