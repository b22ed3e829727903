from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from service.store import pages

Item = TypeVar("Item", bound=BaseModel)

LARGEST_PAGE = 200


class PageParameters(BaseModel):
    """Which part of a list is asked for."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=LARGEST_PAGE, description="Items of one page.")
    cursor: str | None = Field(
        default=None, max_length=500, description="`next_cursor` of the page before."
    )


class Page(BaseModel, Generic[Item]):
    """A part of a list; `next_cursor` leads to the next one, null at the end."""

    items: list[Item]
    next_cursor: str | None

    @classmethod
    def of(cls, found: pages.Page[Item]) -> "Page[Item]":
        """As the store cut it."""
        return cls(items=list(found.items), next_cursor=found.next_cursor)
