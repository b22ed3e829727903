"""Engines of both databases and the two kinds of transaction on them."""

from contextlib import AbstractContextManager

from sqlalchemy import Engine
from sqlalchemy.orm import Session


def create_engine(url: str) -> Engine:
    raise NotImplementedError


class Sessions:
    """Opens transactions: one for each use case, at the edge or in the loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def reading(self) -> AbstractContextManager[Session]:
        """One consistent look; whatever it changed is rolled back."""
        raise NotImplementedError

    def writing(self) -> AbstractContextManager[Session]:
        """Commit at exit, roll back on an exception. BEGIN IMMEDIATE on SQLite."""
        raise NotImplementedError
