"""A profiled trial: its Chrome trace, and the collectives' share as the profiler saw it."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ConfigDict

from workers.contract.frozen import Frozen

STEP_NAME = "tpsweep.step"
"""Around each profiled step in the trace."""

Interval = tuple[float, float]


class Profile(Frozen):
    """What torch's profiler recorded of a few extra steps on rank 0, after the timed ones."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    trace_gzip: bytes
    """Chrome trace events, for chrome://tracing or Perfetto. Empty where it was too large."""
    collective_share: float | None
    """See `collective_share`. None where ranks sent past the backend, whose collectives
    alone the profiler knows."""


def collective_share(events: Iterable[Mapping[str, object]]) -> float | None:
    """Time in collectives over active time, of a trace's complete events; None without any.

    On a GPU active is where any kernel runs, and NCCL's kernels are the collectives: they spin
    while they wait for late ranks, and that is in it. On a CPU active is the profiled steps, and
    gloo's own spans are the collectives: of its threads, so that what the waiting rank needs to
    wake up is not in them.
    """
    spans = [event for event in events if event.get("ph") == "X"]
    kernels = [span for span in spans if span.get("cat") == "kernel"]
    if kernels:
        active = _intervals(kernels)
        collectives = _intervals(k for k in kernels if str(k.get("name")).startswith("nccl"))
    else:
        active = _intervals(s for s in spans if s.get("name") == STEP_NAME)
        collectives = _intervals(s for s in spans if str(s.get("name")).startswith("gloo:"))
    total = sum(end - begin for begin, end in active)
    if not total:
        return None
    return sum(_inside(one, active) for one in collectives) / total


def _intervals(spans: Iterable[Mapping[str, object]]) -> list[Interval]:
    """Return the union as intervals that do not touch, in order."""
    found = sorted(
        (_number(span, "ts"), _number(span, "ts") + _number(span, "dur")) for span in spans
    )
    merged: list[Interval] = []
    for begin, end in found:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _number(span: Mapping[str, object], field: str) -> float:
    value = span.get(field, 0)
    return float(value) if isinstance(value, int | float | str) else 0.0


def _inside(one: Interval, active: Sequence[Interval]) -> float:
    return sum(max(0.0, min(one[1], end) - max(one[0], begin)) for begin, end in active)
