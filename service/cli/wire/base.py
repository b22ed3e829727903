"""What this client reads of the server's answers: fields it shows, and nothing it does not know.

Readers are tolerant where writers are strict: a newer server may send more, and `--json` passes on
all of it. So these are the client's own, not the server's models.
"""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Part of an answer; other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
