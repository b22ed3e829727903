from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from service.cli.failures import ServerFailedError

Answered = TypeVar("Answered", bound=BaseModel)

_DOCUMENT: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class Page(BaseModel):
    """One page of a list, its items not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    items: list[JsonValue]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: all of it as JSON, or the part of it that this client knows."""

    url: str
    body: bytes

    @property
    def document(self) -> JsonValue:
        """All of it."""
        try:
            return _DOCUMENT.validate_json(self.body)
        except ValidationError as error:
            raise _not_understood(self.url, error) from error

    def read(self, model: type[Answered]) -> Answered:
        """The fields of `model`."""
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            raise _not_understood(self.url, error) from error


@dataclass(frozen=True, slots=True)
class Listing:
    """Items of a list over its pages, and the cursor where there are more."""

    url: str
    items: list[JsonValue]
    next_cursor: str | None

    @property
    def document(self) -> JsonValue:
        """The pages as one."""
        return {"items": self.items, "next_cursor": self.next_cursor}

    def read(self, model: type[Answered]) -> list[Answered]:
        """Each item's fields of `model`."""
        try:
            return [model.model_validate(item) for item in self.items]
        except ValidationError as error:
            raise _not_understood(self.url, error) from error


def _not_understood(url: str, error: ValidationError) -> ServerFailedError:
    first = error.errors(include_url=False)[0]
    where = "/".join(str(part) for part in first["loc"])
    return ServerFailedError(
        f"{url} answered what this version does not understand", f"/{where}: {first['msg']}"
    )
