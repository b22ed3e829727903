from typing import Annotated, TypeVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class OneOrMany:
    """Marks a tuple that one value alone may stand for, in validation and in its JSON schema."""

    def __get_pydantic_core_schema__(
        self, source: type[object], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        many = handler(schema)
        if handler.mode == "serialization":
            return many
        return {"anyOf": [many["items"], many]}


def _as_list(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Value = TypeVar("Value")
Axis = Annotated[tuple[Value, ...], Field(min_length=1), OneOrMany()]
"""At least one value; one alone need not be in a list."""
