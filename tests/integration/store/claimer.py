"""What one of many processes does: claim until nothing is queued."""

import time
from datetime import timedelta

from sqlalchemy import exists, select

from service.store import queue
from service.store.engine import Sessions, create_engine
from service.store.leases import Offer
from service.store.models.trial import TrialRow
from service.store.states import TrialState

OFFER = Offer(hardware_key="h1:test", accelerator="Test CPU", num_slots=4)
POLL_INTERVAL_S = 0.02
QUEUED = exists(select(1).where(TrialRow.state == TrialState.QUEUED))


def claim_all(url: str, owner: str) -> list[str]:
    """Return the trials that this owner got, as a dispatcher with one group would take them."""
    sessions = Sessions(create_engine(url))
    trial_ids: list[str] = []
    prefer: tuple[str, int] | None = None
    ttl = timedelta(minutes=5)
    while True:
        with sessions.writing() as session:
            lease = queue.claim(session, owner=owner, offer=OFFER, ttl=ttl, prefer=prefer)
        if lease is not None:
            prefer = (lease.sweep_id, lease.replicate)
            trial_ids.append(lease.trial_id)
            continue
        with sessions.reading() as session:
            if not session.scalar(select(QUEUED)):
                sessions.engine.dispose()
                return trial_ids
        time.sleep(POLL_INTERVAL_S)
