"""Every table, for migrations and their tests: importing this module loads all of them."""

from service.store.models import (
    baseline,
    curve,
    event,
    finding,
    fleet,
    point,
    prediction,
    result,
    schedule,
    sweep,
    token,
    trial,
    webhook,
)
from service.store.models.declarative import Rows

TABLE_MODULES = (
    baseline,
    curve,
    event,
    finding,
    fleet,
    point,
    prediction,
    result,
    schedule,
    sweep,
    token,
    trial,
    webhook,
)
METADATA = Rows.metadata
