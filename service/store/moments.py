"""Times as others send them: each with its offset, and such that there is one in UTC."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime


def _to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time lies outside the years 1 to 9999") from None


Moment = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""RFC 3339; in UTC, as which it is stored and compared."""
