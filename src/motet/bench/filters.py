r"""Filters: what is done to the text of a reply before it is compared, as lm-evaluation-harness does it.

    >>> found = Filter("regex", {"regex_pattern": r"#### (-?[0-9.,]+)"})
    >>> filtered("6 * 7 is 42.\n#### 42", (found, Filter("take_first")))
    '42'

* `regex`: what the first group of `regex_pattern` matches; the match number `group_select` (0 the first, -1 the last);
  `fallback` ("[invalid]") where nothing matches
* `until`: what stands before the first of the `stops`, where generation would have ended
* `map`: another text for a text (`mapping_dict`), `default_value` for any other
* `lowercase`, `uppercase`, `strip`, `remove_whitespace` (one blank at the start)
* `take_first`: nothing, as there is one reply

Patterns are the suite's own, and are tried in this process without a time limit: look at those of strangers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from motet.errors import UsageError

LONGEST: Final = 100_000
"""Characters of a reply that are looked at: its end counts."""


class Filter(msgspec.Struct, frozen=True):
    """One step: its kind, and its settings by the names that lm-evaluation-harness gives them."""

    kind: str
    settings: Mapping[str, object] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise UsageError(f"there is no filter {self.kind!r}: there are {', '.join(sorted(_KINDS))}")
        try:
            _KINDS[self.kind]("", self.settings)
        except (re.error, TypeError, ValueError, IndexError) as error:
            raise UsageError(f"the filter {self.kind!r} can't work with {dict(self.settings)}: {error}") from error


def filtered(text: str, filters: Iterable[Filter]) -> str:
    """A reply's text after all filters."""
    for each in filters:
        text = _KINDS[each.kind](text[-LONGEST:], each.settings)
    return text


def _regex(text: str, settings: Mapping[str, object]) -> str:
    pattern = settings.get("regex_pattern", r"#### (\-?[0-9\.\,]+)")
    select, fallback = settings.get("group_select", 0), settings.get("fallback", "[invalid]")
    if not isinstance(pattern, str) or not isinstance(select, int):
        raise TypeError("`regex_pattern` is a text and `group_select` a whole number")
    found: list[str | tuple[str, ...]] = re.findall(pattern, text)
    if not -len(found) <= select < len(found):
        return str(fallback)
    match = found[select]
    return (match if isinstance(match, str) else next((group for group in match if group), str(fallback))).strip()


def _until(text: str, settings: Mapping[str, object]) -> str:
    stops = settings.get("stops", ())
    if not isinstance(stops, list | tuple):
        raise TypeError("`stops` is a list of texts")
    ends = [end for stop in stops if str(stop) and (end := text.find(str(stop))) >= 0]
    return text[: min(ends)] if ends else text


def _map(text: str, settings: Mapping[str, object]) -> str:
    mapping = settings.get("mapping_dict", {})
    if not isinstance(mapping, Mapping):
        raise TypeError("`mapping_dict` is a table")
    return str(mapping.get(text, settings.get("default_value", text)))


_KINDS: Final[Mapping[str, Callable[[str, Mapping[str, object]], str]]] = MappingProxyType(
    {
        "regex": _regex,
        "until": _until,
        "map": _map,
        "lowercase": lambda text, _: text.lower(),
        "uppercase": lambda text, _: text.upper(),
        "strip": lambda text, _: text.strip(),
        "remove_whitespace": lambda text, _: text.removeprefix(" "),
        "take_first": lambda text, _: text,
    }
)
