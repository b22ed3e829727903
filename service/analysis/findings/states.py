"""States of a finding and who may move it from which to which."""

from enum import StrEnum
from typing import Final


class FindingState(StrEnum):
    """What is known of it, and what somebody decided."""

    SUSPECT = "suspect"
    """The newest night looks wrong; it is measured again."""
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    FIXED = "fixed"
    """Somebody says so; the detector has not seen it yet."""
    RECOVERED = "recovered"
    """The detector sees the old level again, or the suspicion was gone on a later night."""
    DISMISSED = "dismissed"


class Dismissal(StrEnum):
    """Why a finding is none; what the precision of a policy is reckoned from."""

    FALSE_POSITIVE = "false_positive"
    HARDWARE = "hardware"
    """True, but of a machine that is looked after elsewhere."""
    METHOD = "method"
    """How we measure changed, not what is measured."""
    MERGED = "merged"
    """It turned out to be part of another finding."""
    WITHDRAWN = "withdrawn"
    """By the detector: with later nights known it is no longer there."""


MISTAKES: Final = frozenset({Dismissal.FALSE_POSITIVE, Dismissal.METHOD, Dismissal.WITHDRAWN})
"""Reasons that count against whoever raised it."""

_S = FindingState
FOLLOWING: Final = {
    _S.SUSPECT: frozenset({_S.ACKNOWLEDGED, _S.DISMISSED}),
    _S.CONFIRMED: frozenset({_S.ACKNOWLEDGED, _S.FIXED, _S.DISMISSED}),
    _S.ACKNOWLEDGED: frozenset({_S.CONFIRMED, _S.FIXED, _S.DISMISSED}),
    _S.FIXED: frozenset({_S.CONFIRMED, _S.ACKNOWLEDGED, _S.DISMISSED}),
    _S.RECOVERED: frozenset({_S.DISMISSED}),
    _S.DISMISSED: frozenset({_S.CONFIRMED}),
}
"""Where people may move a finding from each state."""
OPEN: Final = (_S.SUSPECT, _S.CONFIRMED, _S.ACKNOWLEDGED, _S.FIXED)
"""Not over: what somebody says is fixed is seen until the old level is back."""
