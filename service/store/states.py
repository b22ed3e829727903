"""States, as the database's CHECK constraints list them, and the words for how things end."""

from enum import StrEnum


class TrialState(StrEnum):
    """Where one trial is. Stored; every change is one conditional UPDATE."""

    QUEUED = "queued"
    LEASED = "leased"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


HELD = (TrialState.LEASED, TrialState.RUNNING)
"""Some dispatcher owns the trial."""
ACTIVE = (TrialState.QUEUED, *HELD)
"""The trial is not over."""


class PointState(StrEnum):
    """What a point's trials come to. Derived, never stored."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class SweepState(StrEnum):
    """What a sweep's trials come to. Derived, never stored."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AttemptOutcome(StrEnum):
    """How one attempt at a trial ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"
    RELEASED = "released"
    CANCELLED = "cancelled"


class EventKind(StrEnum):
    """What happened in a sweep."""

    SWEEP_CREATED = "sweep_created"
    SWEEP_BOUND = "sweep_bound"
    SWEEP_CANCELLED = "sweep_cancelled"
    SWEEP_RETRIED = "sweep_retried"
    SWEEP_FINISHED = "sweep_finished"
    TRIAL_STARTED = "trial_started"
    TRIAL_SUCCEEDED = "trial_succeeded"
    TRIAL_FAILED = "trial_failed"
    TRIAL_REQUEUED = "trial_requeued"
    TRIAL_CANCELLED = "trial_cancelled"


class Scope(StrEnum):
    """What a token may do."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


class WebhookKind(StrEnum):
    """How findings are told."""

    WEBHOOK = "webhook"
    """A POST signed as Standard Webhooks says."""
    SLACK = "slack"
    """A POST as Slack's incoming webhooks take it, and others that imitate them."""
    EMAIL = "email"


class Announcement(StrEnum):
    """What is told."""

    SUSPECT = "suspect"
    CONFIRMED = "confirmed"
    RECOVERED = "recovered"
    """Of a finding that was confirmed."""
    WITHDRAWN = "withdrawn"
    """That what was told as confirmed is taken back."""
    TEST = "test"
    """That somebody asked whether messages arrive."""


class DeliveryState(StrEnum):
    """Where one message is."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Given up after the last attempt."""
