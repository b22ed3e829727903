from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import Document, UtcDateTime
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, NAME
from service.store.states import Scope


class TokenRow(Rows):
    """An access token; of its secret only the SHA-256."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME))
    secret_sha256: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[tuple[Scope, ...]] = mapped_column(Document(tuple[Scope, ...]))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
