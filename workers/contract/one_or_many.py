from typing import Annotated, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class OneOrMany:
    """Marks a tuple of at least one value, which one alone may stand for.

    Judged before the values are: a length counted afterwards is short wherever one is wrong.
    """

    def __get_pydantic_core_schema__(
        self, source: type[object], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        many = {**handler(schema), "minItems": 1}
        if handler.mode == "serialization":
            return many
        return {"anyOf": [many["items"], many]}


def _as_list(value: object) -> object:
    if not isinstance(value, list | tuple):
        return [value]
    if not value:
        raise PydanticCustomError("too_short", "At least one value is needed")
    return value


Value = TypeVar("Value")
Axis = Annotated[tuple[Value, ...], OneOrMany()]
"""At least one value; one alone need not be in a list."""
