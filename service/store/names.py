"""What people may call by its id or by its name."""

from typing import TypeVar

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store.models.schedule import ScheduleRow
from service.store.models.webhook import WebhookRow

Row = TypeVar("Row", ScheduleRow, WebhookRow)


def find_row(
    session: Session, table: type[Row], name: str, *, noun: str, lock: bool = False
) -> Row:
    """The row as the database has it now; an id goes before a name. NotFoundError if none."""
    chosen = select(table).where(or_(table.id == name, table.name == name))
    if lock:
        chosen = chosen.with_for_update()
    rows = session.scalars(chosen, execution_options={"populate_existing": True}).all()
    if not rows:
        raise NotFoundError(f"there is no {noun} {name!r}")
    return next((row for row in rows if row.id == name), rows[0])
