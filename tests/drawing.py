"""Texts drawn from a grammar: the part of GBNF that forms are made of."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import partial

Part = Callable[[], str]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^]\\]|\\.)*\]|\w+|::=|[()|?]|\{\d+,\d+\}')


class Grammar:
    """The part of GBNF that forms are made of, to draw texts from."""

    def __init__(self, form: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.rules = dict(line.split(" ::= ", 1) for line in form.splitlines())

    def rule(self, name: str) -> str:
        """A text that a rule allows."""
        ways, _ = self._ways(TOKEN.findall(self.rules[name]), 0)
        return self._one(ways)

    def _ways(self, tokens: Sequence[str], at: int) -> tuple[list[list[Part]], int]:
        """The alternatives from a place up to the bracket that ends them, and the place of that."""
        ways: list[list[Part]] = [[]]
        while at < len(tokens) and tokens[at] != ")":
            token, at = tokens[at], at + 1
            if token == "|":
                ways.append([])
            elif token == "(":
                inner, at = self._ways(tokens, at)
                at += 1
                ways[-1].append(partial(self._one, inner))
            elif token == "?":
                ways[-1].append(partial(self._times, ways[-1].pop(), 0, 1))
            elif token[0] == "{":
                ways[-1].append(partial(self._times, ways[-1].pop(), *map(int, token[1:-1].split(","))))
            elif token[0] == '"':
                ways[-1].append(
                    partial(str, re.sub(r"\\(U[0-9a-f]{8}|.)", lambda found: _unquoted(found[1]), token[1:-1]))
                )
            else:
                ways[-1].append(partial(self._character if token[0] == "[" else self.rule, token))
        return ways, at

    def _one(self, ways: Sequence[Sequence[Part]]) -> str:
        return "".join(part() for part in self.rng.choice(ways))

    def _times(self, part: Part, low: int, high: int) -> str:
        return "".join(part() for _ in range(self.rng.randint(low, high)))

    def _character(self, kind: str) -> str:
        """One of a class, of those that could mislead a reader."""
        return self.rng.choice([each for each in "abcxyz ABC:.,-*_\"'\\()>1290éжあ" if re.fullmatch(kind, each)])


def _unquoted(escape: str) -> str:
    """The character that an escape of a grammar stands for."""
    return "\n" if escape == "n" else chr(int(escape[1:], 16)) if len(escape) > 1 else escape
