"""What an agent is made of, as data that can be hashed: who is made otherwise gives other answers.

Dataclasses are what their fields are, and functions what they are called: neither their code nor what lies behind a
model's name is looked at. A model is its name and what is said of it; what knows better says so in `identity`.

>>> from motet import ModelAgent, Scripted, Vote
>>> fingerprint(Vote([ModelAgent(Scripted("4", name="m"), "a")]), {"m": "v1"})[1]["agents"][0][1]["backend"]
['m', 'v1']
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from motet.backend import Backend


def fingerprint(value: object, models: Mapping[str, str]) -> Any:
    """What a value is made of.

    Args:
        value: an agent, or anything in it.
        models: what each model is, by its backend's name, in any words.

    Returns:
        Lists, mappings with text keys, texts and numbers, the same for what is made the same.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    known = getattr(value, "identity", None)
    if isinstance(value, Backend):
        return [value.name, models.get(value.name) or (known if isinstance(known, str) else kind)]
    if isinstance(known, str):
        return [kind, known]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.compare]
        return [kind, {name: fingerprint(getattr(value, name), models) for name in fields}]
    if isinstance(value, msgspec.Struct):
        return [kind, msgspec.to_builtins(value)]
    if isinstance(value, Mapping):
        return {str(name): fingerprint(each, models) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [fingerprint(each, models) for each in value]
    if isinstance(value, Set):
        return sorted((fingerprint(each, models) for each in value), key=str)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}:{value.__qualname__}"
    return kind
