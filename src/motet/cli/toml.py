r"""A document as TOML: what the standard library reads, it does not write.

>>> print(dumps({"default": "vote", "models": {"m": {"stop": ["\n"], "price": {"input": 1.5}}}}))
default = "vote"
<BLANKLINE>
[models.m]
stop = ["\n"]
price = { input = 1.5 }
<BLANKLINE>
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping


def dumps(document: Mapping[str, object]) -> str:
    """Plain keys first, then each section with a table an entry."""
    plain = {key: each for key, each in document.items() if not _is_section(each)}
    blocks = ["".join(f"{name(key)} = {value(each)}\n" for key, each in plain.items())] if plain else []
    for section, entries in document.items():
        if isinstance(entries, Mapping) and _is_section(entries):
            for key, table in entries.items():
                lines = [f"{name(inner)} = {value(each)}\n" for inner, each in table.items() if each is not None]
                blocks.append(f"[{name(section)}.{name(key)}]\n{''.join(lines)}")
        elif isinstance(entries, Mapping):
            continue
    return "\n".join(blocks)


def _is_section(entries: object) -> bool:
    return (
        isinstance(entries, Mapping) and bool(entries) and all(isinstance(each, Mapping) for each in entries.values())
    )


def name(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def value(given: object) -> str:
    """A value on one line."""
    if isinstance(given, Mapping):
        inner = ", ".join(f"{name(key)} = {value(each)}" for key, each in given.items() if each is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(given, list | tuple):
        return f"[{', '.join(value(each) for each in given)}]"
    if isinstance(given, str):
        return _text(given)
    return json.dumps(given)


def _text(given: str) -> str:
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
