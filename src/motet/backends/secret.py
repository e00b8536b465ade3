"""A text that must not be seen: it shows itself as `***` everywhere but where it is asked for by name.

>>> key = Secret("sk-0123456789abcdef")
>>> key
Secret('***')
>>> f"{key}: {key.hide('refused: sk-0123456789abcdef')}"
'***: refused: ***'
"""

from __future__ import annotations

SHORT = 4
"""A secret shorter than this is not looked for in texts: it would take ordinary words out of them."""


class Secret:
    """A key or a password. Compares by value; only `reveal()` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value.strip()

    def reveal(self) -> str:
        """The secret itself, for the one place that needs it."""
        return self._value

    def hide(self, text: str) -> str:
        """`text` with the secret taken out."""
        return text.replace(self._value, "***") if len(self._value) >= SHORT else text

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
