"""One way to write a document down, so that equal ones have equal hashes."""

import hashlib
import json


def sha256_of(document: object) -> str:
    """64 hexadecimal digits over its JSON with sorted keys and no spaces."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
