from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import Document, UtcDateTime
from service.store.models.declarative import Rows
from service.store.models.lengths import KEY, NAME
from workers.contract.hardware import Environment, Hardware


class HardwareRow(Rows):
    """What a hardware_key stands for. The key is a hash of the facts, so they never change."""

    __tablename__ = "hardware"

    hardware_key: Mapped[str] = mapped_column(String(KEY), primary_key=True)
    facts: Mapped[Hardware] = mapped_column(Document(Hardware))
    accelerator: Mapped[str] = mapped_column(String(NAME))
    first_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)


class NodeRow(Rows):
    """One machine as its dispatcher last saw it."""

    __tablename__ = "nodes"

    name: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    pool: Mapped[str] = mapped_column(String(NAME))
    address: Mapped[str] = mapped_column(String(NAME))
    hardware_key: Mapped[str] = mapped_column(ForeignKey("hardware.hardware_key"))
    num_slots: Mapped[int]
    slot_memory_bytes: Mapped[int] = mapped_column(BigInteger)
    environment: Mapped[Environment] = mapped_column(Document(Environment))
    topology: Mapped[str] = mapped_column(Text)
    first_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)


class PoolRow(Rows):
    """The lease of one dispatcher on the devices of one cluster."""

    __tablename__ = "pools"

    name: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    owner: Mapped[str] = mapped_column(String(NAME))
    lease_expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
