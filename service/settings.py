"""Every setting of the service, read from the environment here and nowhere else."""

import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


Network = IPv4Network | IPv6Network


def _split(text: object) -> object:
    return [part.strip() for part in text.split(",")] if isinstance(text, str) else text


Networks = Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_split)]
"""As in 127.0.0.0/8, 10.1.0.0/16."""

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class Settings(BaseSettings):
    """Environment variables with the prefix TPSWEEP_, each optional."""

    model_config = SettingsConfigDict(
        env_prefix="TPSWEEP_",
        frozen=True,
        validate_default=True,
        env_ignore_empty=True,
        extra="ignore",
    )

    home: Annotated[Path, AfterValidator(_absolute)] = Path("~/.local/share/tpsweep")
    """Data directory: the SQLite file, rank logs, traces."""
    database_url: SecretStr = SecretStr("")
    """SQLAlchemy URL, postgresql://… or sqlite:///…; SQLite in the home where not given."""

    host: str = "127.0.0.1"
    """Address the API listens on. Anything but loopback needs a token in the database."""
    port: int = Field(default=8321, ge=0, le=65_535)
    """Port of the API; 0 takes a free one."""
    require_tokens: bool = False
    """Ask for a token on loopback too."""

    session_key: SecretStr = SecretStr("")
    """Signs the cookies of the pages; every API process needs the same. Made and kept in the home
    where not given."""

    max_points: int = Field(default=10_000, ge=1, le=1_000_000)
    """Combinations one sweep or calibration may have."""
    max_body_bytes: int = Field(default=1 << 20, ge=1024)
    """Bytes of a request's body."""
    max_import_bytes: int = Field(default=1 << 32, ge=1024)
    """Bytes of results that one request may bring in as JSON lines."""
    max_streams: int = Field(default=1_000, ge=1)
    """Event streams one API process serves at once."""
    stream_poll_s: Seconds = 0.002
    """How often an event stream asks whether anything was committed."""
    stream_heartbeat_s: Seconds = 15
    """How often an event stream that has nothing to say sends a comment."""

    ray_address: str = "local"
    """`local` starts a Ray of its own; an address joins a cluster."""
    pool: str = Field(default="default", min_length=1, max_length=100)
    """Name of the devices one dispatcher works on; one dispatcher per pool."""
    cpu_devices: int | None = Field(default=None, ge=1, le=64)
    """Ranks a node without a GPU can hold; max(cores, 4) where not given."""
    nodes_per_group: int = Field(default=1, ge=1, le=16)
    """Nodes that a worker group spans; 1 keeps it on one machine."""
    link: str = Field(default="network", pattern="^network[a-z0-9_]{0,40}$")
    """Name of what is between the nodes of a group: another link is another hardware."""
    lease_ttl_s: Seconds = 30
    """How long a trial stays with a dispatcher that does not report."""
    poll_interval_s: Seconds = 0.002
    """How often an idle dispatcher asks the database whether anything was committed."""
    max_attempts: int = Field(default=3, ge=1, le=100)
    """Attempts at a trial that infrastructure failures end."""

    webhook_networks: Networks = ()
    """Internal networks that webhooks may reach, over plain HTTP and on any port too."""
    smtp_url: SecretStr = SecretStr("")
    """Where e-mail is handed in: smtp://user:password@host:587 or smtps://…:465."""
    smtp_from: str = Field(default="tpsweep@localhost", max_length=254, pattern=r"^[\x20-\x7e]+$")
    """Sender of e-mail."""

    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    """Least severe log lines that are written."""
    log_format: str = Field(default="auto", pattern="^(auto|json|console)$")
    """json, console, or auto: console on a terminal."""

    url: str = ""
    """Where clients find the API; http://host:port where not given."""
    token: SecretStr = SecretStr("")
    """What clients show it."""

    @property
    def database(self) -> str:
        """URL of the database, password included: for the engine only."""
        return self.database_url.get_secret_value() or f"sqlite:///{self.home / 'tpsweep.sqlite3'}"

    @property
    def database_shown(self) -> str:
        """The same with the password struck out: for people and logs."""
        shown = re.sub(r"(://[^:/@]*:).*@", r"\g<1>***@", self.database)
        return re.sub(r"(?i)(password=)[^&]*", r"\g<1>***", shown)

    @property
    def client_url(self) -> str:
        """Where this machine's clients find the API."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.url or f"http://{host}:{self.port}").rstrip("/")
