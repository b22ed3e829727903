"""What the loop sleeps on: news from Ray and, while nothing is being timed, from the database."""

from collections.abc import Callable, Sequence

from service.dispatch.station import Station

LONGEST_WAIT_S = 0.1


class Lookout:
    """Ends a wait as soon as there may be something to do."""

    def __init__(
        self,
        wait_for_ray: Callable[[float], bool],
        has_news: Callable[[], bool],
        *,
        look_every_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._wait_for_ray = wait_for_ray
        self._has_news = has_news
        self._look_every_s = min(LONGEST_WAIT_S, look_every_s)
        self._clock = clock

    def wait(self, stations: Sequence[Station]) -> None:
        """Sleep, `LONGEST_WAIT_S` at most: what becomes due by itself is late by no more.

        The database is asked only where somebody is free to work and nobody measures beside it.
        """
        if not _are_idle(stations):
            self._wait_for_ray(LONGEST_WAIT_S)
            return
        until = self._clock() + LONGEST_WAIT_S
        while not self._wait_for_ray(self._look_every_s):
            if self._has_news() or self._clock() >= until:
                return


def _are_idle(stations: Sequence[Station]) -> bool:
    return any(s.wants_work for s in stations) and not any(s.is_measuring for s in stations)
