"""Files that pages load: a fixed set, read once, named with a hash so that browsers keep them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

FOLDER: Final = Path(__file__).parent / "static"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str
    version: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All of them, by name."""

    by_name: dict[str, Asset]

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        """Read what browsers can use; licences and lists stay."""
        return cls(
            {path.name: _asset(path) for path in sorted(folder.rglob("*")) if path.suffix in TYPES}
        )

    def url(self, name: str) -> str:
        """Where a page finds the file; another content has another address."""
        return f"/static/{name}?v={self.by_name[name].version}"


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    return Asset(content, TYPES[path.suffix], hashlib.sha256(content).hexdigest()[:12])
