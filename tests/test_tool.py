"""Tools: functions become something a model can call; wrong calls and failures are told to it, in words."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Literal

import pytest
from pydantic import BaseModel

from motet import tool
from motet.errors import ToolError
from motet.tool import RESULT_LIMIT


class Place(BaseModel):
    """Where something is."""

    city: str
    floor: int = 0


class Order(BaseModel):
    """What is wanted, and where to."""

    items: list[str]
    to: Place


def run(function: Callable[..., object], arguments: str) -> str:
    """Call a function as a tool."""
    return asyncio.run(tool(function)(arguments))


def add(a: int, b: int = 40) -> int:
    """Add two whole numbers."""
    return a + b


def test_what_a_model_is_told() -> None:
    """Name, docstring, and a schema with types, defaults and what is required; nothing else is allowed."""
    spec = tool(add).spec
    assert (spec.name, spec.description) == ("add", "Add two whole numbers.")
    assert json.loads(spec.parameters) == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "title": "a"},
            "b": {"type": "integer", "title": "b", "default": 40},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    named = tool(add, name="plus", description="Adds.").spec
    assert (named.name, named.description) == ("plus", "Adds.")


def test_arguments_and_defaults() -> None:
    """What is given is used, what is not has its default; no arguments at all may come as nothing."""
    assert run(add, '{"a": 2}') == "42"
    assert run(add, '{"a": 2, "b": 3}') == "5"

    def nothing() -> str:
        return "done"

    assert run(nothing, "") == run(nothing, "{}") == "done"


def test_async_and_what_only_turns_out_to_be() -> None:
    """Coroutine functions are awaited, and so are objects and partials that give a coroutine."""

    async def double(x: float) -> float:
        await asyncio.sleep(0)
        return 2 * x

    class Doubler:
        __name__ = "doubler"

        async def __call__(self, x: float) -> float:
            return await double(x)

    assert run(double, '{"x": 1.5}') == run(Doubler(), '{"x": 1.5}') == "3.0"
    assert asyncio.run(tool(partial(double), name="double")('{"x": 1}')) == "2.0"


def test_a_slow_function_does_not_block_the_loop() -> None:
    """A plain function runs in a thread: the loop goes on meanwhile."""
    import threading

    gate = threading.Event()

    def wait() -> str:
        assert gate.wait(5)
        return "open"

    async def work() -> str:
        asyncio.get_running_loop().call_later(0.01, gate.set)
        return await tool(wait)("{}")

    assert asyncio.run(work()) == "open"


def test_nested_models() -> None:
    """Pydantic models in hints are described, checked, and given as models."""

    def order(order: Order, fast: bool = False) -> str:
        assert isinstance(order.to, Place)
        return f"{order.items} to {order.to.city}, floor {order.to.floor}, {fast}"

    assert "$defs" in json.loads(tool(order).spec.parameters)
    assert run(order, '{"order": {"items": ["tea"], "to": {"city": "Rome"}}}') == "['tea'] to Rome, floor 0, False"
    with pytest.raises(ToolError, match=r"order\.to\.city: Field required"):
        run(order, '{"order": {"items": [], "to": {}}}')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"b": 1}', "a: Field required"),
        ('{"a": "x"}', "a: Input should be a valid integer"),
        ('{"a": 1, "c": 2}', "c: Extra inputs are not permitted"),
        ('{"a": 1', "arguments: Invalid JSON"),
        ("[1, 2]", "arguments: Input should be an object"),
        ("null", "arguments: Input should be an object"),
        ("\x00", "arguments: Invalid JSON"),
        ('{"a": 1e400}', "a: "),
    ],
)
def test_wrong_arguments_are_said_to_be(arguments: str, said: str) -> None:
    """What does not fit the signature never reaches the function; the error says what would fit."""
    with pytest.raises(ToolError, match="add was called wrongly") as caught:
        run(add, arguments)
    assert said in str(caught.value)


def test_a_choice_is_part_of_the_schema() -> None:
    """Literals are described as the values there are, and checked."""

    def paint(colour: Literal["red", "blue"]) -> str:
        return colour

    assert json.loads(tool(paint).spec.parameters)["properties"]["colour"]["enum"] == ["red", "blue"]
    with pytest.raises(ToolError, match="colour"):
        run(paint, '{"colour": "green"}')


def test_parameters_may_have_any_name() -> None:
    """Names that pydantic has uses for, or that begin with an underscore, are names as any other."""

    def odd(schema: int, json: int, copy: int, _private: int, model_config: int = 5) -> int:
        return schema + json + copy + _private + model_config

    assert run(odd, '{"schema": 1, "json": 2, "copy": 3, "_private": 4}') == "15"
    assert set(json.loads(tool(odd).spec.parameters)["required"]) == {"schema", "json", "copy", "_private"}


def test_results_are_text() -> None:
    """Text is given as it is, everything else as JSON; what JSON does not know as well as can be."""

    @dataclass
    class Point:
        x: int

    results: list[tuple[object, str]] = [
        ("é", "é"),
        (["é", 1.5, None], '["é", 1.5, null]'),
        (Place(city="Rome"), '{"city": "Rome", "floor": 0}'),
        ({"at": Point(1), "on": date(2026, 1, 2)}, '{"at": {"x": 1}, "on": "2026-01-02"}'),
        ({3}, "[3]"),
        (None, "null"),
    ]
    for result, text in results:

        def give(result: object = result) -> object:
            return result

        give.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        assert run(give, "{}") == text


def test_a_long_result_is_cut_and_said_to_be() -> None:
    """A megabyte does not go into a prompt."""

    def much() -> str:
        return "x" * 10**6

    assert run(much, "{}") == "x" * RESULT_LIMIT + "… (1000000 characters, cut)"


def test_what_a_function_raises_is_its_own() -> None:
    """The tool does not hide it; the agent tells the model."""

    def fail() -> str:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        run(fail, "{}")


def test_functions_that_can_not_be_tools() -> None:
    """No hint, any number of arguments, hints that are no JSON type or can't be found: refused when it is made."""

    class Opaque:
        pass

    def bare(x) -> None: ...  # type: ignore[no-untyped-def]
    def many(*xs: int) -> None: ...
    def keys(**xs: int) -> None: ...
    def placed(x: int, /) -> None: ...
    def opaque(x: Opaque) -> None: ...
    def unknown(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function, said in (
        (bare, "no type hint: give it one, as x: str"),
        (many, "name each one"),
        (keys, "name each one"),
        (placed, "name each one"),
        (opaque, "can't be a tool"),
        (unknown, "can't be a tool"),
        (lambda: None, "is no name for a tool"),
        (partial(add), "is no name for a tool"),
    ):
        with pytest.raises(ToolError, match=said):
            tool(function)
