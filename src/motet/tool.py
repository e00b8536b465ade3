"""Tools: a Python function with type hints becomes something a model can call.

    >>> def add(a: int, b: int) -> int:
    ...     "Add two whole numbers."
    ...     return a + b
    >>> add_tool = tool(add)
    >>> add_tool.spec.name, add_tool.spec.description
    ('add', 'Add two whole numbers.')
    >>> import asyncio
    >>> asyncio.run(add_tool('{"a": 2, "b": 40}'))
    '42'

Only the acting agent calls tools; advisers never do. A tool that raises gives the model the error's text, not a crash.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from motet.errors import ToolError
from motet.message import ToolSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

RESULT_LIMIT = 20_000
"""Characters of a result that a model is shown; the rest is cut and said to be."""


@dataclass(frozen=True)
class Tool:
    """A function that a model may call. Make one with `tool()`.

    Calling it takes the arguments as the JSON text a model wrote and gives the result as text.

    Raises (when called):
        ToolError: the arguments are no JSON object or do not fit the signature; says what would.
    """

    function: Callable[..., object]
    name: str
    description: str
    _arguments: type[BaseModel] = field(repr=False, compare=False)

    @cached_property
    def spec(self) -> ToolSpec:
        """What a model is told: name, description and JSON Schema."""
        schema = self._arguments.model_json_schema()
        schema.pop("title", None)
        return ToolSpec(self.name, self.description, json.dumps(schema))

    async def __call__(self, arguments: str) -> str:
        from pydantic import ValidationError

        try:
            checked = self._arguments.model_validate_json(arguments or "{}")
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()
            )
            raise ToolError(f"{self.name} was called wrongly: {wrong}") from None
        values = {field.alias or name: getattr(checked, name) for name, field in type(checked).model_fields.items()}
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**values)
        else:
            result = await asyncio.to_thread(self.function, **values)
        if inspect.isawaitable(result):
            result = await result
        text = result if isinstance(result, str) else json.dumps(result, default=_plain, ensure_ascii=False)
        return text if len(text) <= RESULT_LIMIT else f"{text[:RESULT_LIMIT]}… ({len(text)} characters, cut)"


def _plain(value: object) -> object:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def tool(function: Callable[..., object], *, name: str = "", description: str = "") -> Tool:
    """A function as a tool: its name, docstring and type hints say what the model needs to know.

    Args:
        function: sync (run in a thread) or async; every parameter has a type hint.
        name: instead of the function's own.
        description: instead of its docstring.

    Raises:
        ToolError: a parameter has no type hint or takes any number of arguments, or a hint is no JSON type.
    """
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    label = name or getattr(function, "__name__", "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", label):
        raise ToolError(f"{label or function!r} is no name for a tool: give one of letters, digits, _ and -")
    try:
        signature = inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError) as error:
        raise ToolError(f"{label} can't be a tool: {error}") from None
    fields: dict[str, tuple[object, object]] = {}
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolError(f"{label}: parameter {parameter} can't be described to a model: name each one")
        if parameter.annotation is parameter.empty:
            raise ToolError(
                f"{label}: parameter {parameter.name!r} has no type hint: give it one, as {parameter.name}: str"
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        # Under a name of ours, since pydantic wants some for itself: "schema", "json", what begins with "_".
        field = Field(default=default, alias=parameter.name, title=parameter.name)
        fields[f"field_{len(fields)}"] = (parameter.annotation, field)
    try:
        config = ConfigDict(extra="forbid")
        arguments = create_model(f"{label}_arguments", __config__=config, **fields)  # type: ignore[call-overload]
        made = Tool(function, label, description or inspect.getdoc(function) or "", arguments)
        made.spec  # noqa: B018  (described once here, so that a bad hint is found now)
    except (PydanticUserError, TypeError) as error:
        raise ToolError(f"{label} can't be a tool: {error}") from None
    return made
