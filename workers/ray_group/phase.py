"""Where a worker group on Ray is."""

from enum import StrEnum


class Phase(StrEnum):
    """Where a group is."""

    RESERVING = "reserving"
    STARTING = "starting"
    SETTING_UP = "setting_up"
    OPENING_STORE = "opening_store"
    JOINING = "joining"
    READY = "ready"
    MEASURING = "measuring"
    LEAVING = "leaving"
    FAILING = "failing"
    """The other ranks may still say what they saw."""
    EXAMINING = "examining"
    """The agent is asked how the ranks ended."""
    ENDING = "ending"
    ENDED = "ended"


OVER = (Phase.FAILING, Phase.EXAMINING, Phase.ENDING, Phase.ENDED)
"""Nothing can be measured with it any more."""
