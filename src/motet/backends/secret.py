"""A text that must not be seen: it shows itself as `***` everywhere but where it is asked for by name.

>>> key = Secret("sk-0123456789abcdef")
>>> key
Secret('***')
>>> f"{key}: {key.hide('refused: sk-0123456789abcdef')}"
'***: refused: ***'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus

SHORT = 4
"""A secret shorter than this is not looked for in texts: it would take ordinary words out of them."""

_NAMES = re.compile("(?<!cache_)key(?!word)|token(?!s|iz)|secret|password|authorization|bearer")
# Whose text is no secret: how many tokens there may be, a tokenizer, keywords, and OpenAI's prompt_cache_key.


class Secret:
    """A key or a password. Compares by value; only `reveal()` gives it away.

    Args:
        value: the secret; blanks around it are no part of it.
        name: what stands in its place in texts.
    """

    __slots__ = ("_value", "name")

    def __init__(self, value: str, name: str = "***") -> None:
        self._value, self.name = value.strip(), name

    def reveal(self) -> str:
        """The secret itself, for the one place that needs it."""
        return self._value

    @property
    def forms(self) -> tuple[str, ...]:
        """The secret as it may stand in a text: as it is, inside JSON, inside a URL."""
        value = self._value
        within = (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
        return tuple(dict.fromkeys((value, *within, quote(value), quote(value, safe=""), quote_plus(value))))

    def hide(self, text: str) -> str:
        """`text` with the secret taken out."""
        return hide(text, (self,))

    def __repr__(self) -> str:
        return "Secret('***')"

    def __str__(self) -> str:
        return "***"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)


def hide(text: str, secrets: Iterable[Secret], *, least: int = SHORT) -> str:
    """`text` with all of them taken out, the longest first, since one may be part of another.

    Args:
        text: what may hold them.
        secrets: what is looked for.
        least: characters from which one is looked for.
    """
    forms = [(form, secret.name) for secret in secrets if len(secret.reveal()) >= least for form in secret.forms]
    for form, name in sorted(forms, key=lambda each: -len(each[0])):
        text = text.replace(form, name)
    return text


def is_secret(name: object) -> bool:
    """Whether what has this name is a secret, as far as names tell.

    >>> [name for name in ("x-api-key", "accessToken", "max_tokens", "api_key_file", "user") if is_secret(name)]
    ['x-api-key', 'accessToken']
    """
    known = str(name).lower()
    return _NAMES.search(known) is not None and not known.endswith("_file")


def secret_texts(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The texts inside `value` whose key, or that of the list they are in, names a secret; each with where.

    >>> list(secret_texts({"auth": {"token": "abc"}, "user": "me"}))
    [(('auth', 'token'), 'abc')]
    """
    if isinstance(value, str):
        names = [step for step in path if isinstance(step, str)]
        if names and is_secret(names[-1]):
            yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from secret_texts(inner, (*path, key))
    elif isinstance(value, Sequence):
        for place, inner in enumerate(value):
            yield from secret_texts(inner, (*path, place))
