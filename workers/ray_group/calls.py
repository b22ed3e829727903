import time
from collections.abc import Mapping

import ray
from ray import ObjectRef
from ray.exceptions import RayError


class Calls:
    """One call on several ranks (or on the agent), none of them waited for."""

    def __init__(self, step: str, refs: Mapping[int, ObjectRef[object]], *, limit_s: float) -> None:
        self.step = step
        self.limit_s = limit_s
        self._pending = dict(refs)
        self._deadline = time.monotonic() + limit_s
        self.answers: dict[int, object] = {}
        self.errors: dict[int, RayError] = {}

    @property
    def refs(self) -> list[ObjectRef[object]]:
        """Those without an answer."""
        return list(self._pending.values())

    @property
    def missing(self) -> list[int]:
        """Ranks without an answer."""
        return list(self._pending)

    @property
    def is_overdue(self) -> bool:
        """Whether some answer is missing that should be here by now."""
        return bool(self._pending) and time.monotonic() > self._deadline

    def collect(self) -> None:
        """Take in the answers that have come; never waits."""
        if not self._pending:
            return
        refs = self.refs
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        arrived = set(ready)
        for rank in [rank for rank, ref in self._pending.items() if ref in arrived]:
            try:
                self.answers[rank] = ray.get(self._pending.pop(rank), timeout=1)
            except RayError as error:
                self.errors[rank] = error
