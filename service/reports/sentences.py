"""Findings in one plain sentence each."""

from collections.abc import Collection
from typing import assert_never

from service.analysis.crossing import Crossing, Doubt, Outcome
from workers.contract.point import PointSpec

VARIANTS = ("dtype", "arrangement", "collective_impl", "overlap", "launch")
"""What tells series of one block and phase apart."""


def break_even(
    spec: PointSpec,
    overtakes: Crossing,
    pays: Crossing | None,
    *,
    smaller: int | None,
    flags: Collection[str],
) -> str:
    """Say where compute overtakes communication and where the degree beats the next smaller.

    `flags` are of the trials behind it and stand at the end.
    """
    parts = [_overtakes(overtakes)]
    if pays is not None:
        parts.append(_pays(pays, f"tp_degree {smaller}"))
    doubts = f" ({', '.join(sorted(flags))})" if flags else ""
    return f"{_series(spec)}: {'; '.join(parts)}{doubts}"


def _series(spec: PointSpec) -> str:
    """Name the series; what has its usual value is left out."""
    words = [spec.model.name, spec.block, spec.phase]
    named = [" ".join(word for word in words if word)]
    if spec.seq > 1:
        named.append(f"seq {spec.seq}")
    for field in VARIANTS:
        value = str(getattr(spec, field))
        if value != PointSpec.model_fields[field].default:
            named.append(f"overlap {value}" if field == "overlap" else value)
    named.append(f"tp_degree {spec.tp_degree}")
    return ", ".join(named)


def could_be_found(size: float) -> str:
    """Say which change would have shown; `size` is relative, and twice as long is 1."""
    if size > 1:
        return f"a change by less than a factor of {1 + size:.0f} may have been missed"
    return f"a change of {size:.0%} would have been found"


def _overtakes(found: Crossing) -> str:
    within = _range(found)
    match found.outcome:
        case Outcome.CROSSED:
            return f"compute overtakes communication from batch {_batch(found)}"
        case Outcome.NEVER_BELOW:
            return f"compute dominates from the smallest batch on, break-even not reached {within}"
        case Outcome.NEVER_ABOVE:
            return f"communication dominates, break-even not reached {within}"
        case Outcome.CANNOT_TELL:
            return f"break-even {within} cannot be told, {doubt(found)}"
        case _:
            assert_never(found.outcome)


def _pays(found: Crossing, other: str) -> str:
    within = _range(found)
    match found.outcome:
        case Outcome.CROSSED:
            return f"faster than {other} from batch {_batch(found)}"
        case Outcome.NEVER_BELOW:
            return f"faster than {other} from the smallest batch on, {within}"
        case Outcome.NEVER_ABOVE:
            return f"not faster than {other} {within}"
        case Outcome.CANNOT_TELL:
            return f"whether faster than {other} {within} cannot be told, {doubt(found)}"
        case _:
            assert_never(found.outcome)


def _batch(found: Crossing) -> str:
    batch = found.batch
    if batch is None:
        raise AssertionError("a crossing has a batch")
    middle = _number(batch.median)
    if batch.low is not None and batch.high is not None:
        return f"{middle} ({_number(batch.low)} to {_number(batch.high)})"
    if batch.high is not None:
        return f"{middle} (up to {_number(batch.high)}, perhaps below {found.lowest_batch})"
    if batch.low is not None:
        return f"{middle} ({_number(batch.low)} or more, perhaps above {found.highest_batch})"
    return f"{middle} (one replicate, no interval)"


def _range(found: Crossing) -> str:
    alone = " (one replicate)" if found.num_replicates == 1 else ""
    return f"in [{found.lowest_batch}, {found.highest_batch}]{alone}"


def doubt(found: Crossing) -> str | None:
    """Say why it cannot be told; None where it can."""
    match found.doubt:
        case None:
            return None
        case Doubt.NOT_COVERED:
            return "no replicate covers the range"
        case Doubt.TOO_WIDE:
            return "its interval is wider than the measured range"
        case Doubt.NEAR_AN_END:
            if found.num_crossed:
                return f"it is crossed in {found.num_crossed} of {found.num_replicates} replicates"
            return "no side leads beyond chance at an end of the range"
        case _:
            assert_never(found.doubt)


def _number(value: float) -> str:
    """Two digits below 10, whole from there: a batch is not known better."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - one digit
