from collections.abc import Callable


class Timer:
    """Due at once, then every so often."""

    def __init__(self, every_s: float, *, clock: Callable[[], float]) -> None:
        self._every_s = every_s
        self._clock = clock
        self._next = clock()

    @property
    def is_due(self) -> bool:
        """Whether it is time."""
        return self._clock() >= self._next

    def restart(self) -> None:
        """Count anew from now."""
        self._next = self._clock() + self._every_s

    def expire(self) -> None:
        """Be due now."""
        self._next = self._clock()
