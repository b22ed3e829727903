"""Every table, for migrations and their tests: importing this module loads all of them."""

import pkgutil
from importlib import import_module

from sqlalchemy import MetaData

from service.store import models
from service.store.models.declarative import Rows


def _whole() -> MetaData:
    for found in pkgutil.iter_modules(models.__path__, f"{models.__name__}."):
        import_module(found.name)
    return Rows.metadata


METADATA = _whole()
