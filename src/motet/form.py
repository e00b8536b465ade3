r"""Forms: grammars (GBNF) of what `motet.ballot` reads, for agents whose model can be held to one.

A composition that wants a ballot, a grade, a verdict or a list asks for it in words, and says with `Chat.held` which
form that has. An agent that is `held` then writes nothing else, where any other may give its reasons first: a small
model is read at all that way, a large one had better think. What is read is the same for both.

>>> print(choice_form(["STOP", "CONTINUE"]))
root ::= "Verdict: " ("STOP" | "CONTINUE")
>>> print(grade_form(10))
root ::= "Grade: " ("10" | [0-9])
>>> print(either(choice_form(["whole"]), plan_form(["A", "B"], 2)))
root ::= ("Verdict: " ("whole")) | ("1. " ("A" | "B") ": " words ("\n2. " ("A" | "B") ": " words)?)
words ::= [a-z\u00df-\u00ff\u0370-\u1fff\u3040-\ud7a3] [^\n]{1,80}
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_LINES = 12
"""Lines of a list that a model is held to, however many are allowed: grammars of nested options grow with each."""
LINE = r"[^\n]{1,80}"
"""The rest of a line: long enough for a task, and it ends, so that a model that never stops is not cut off."""
WORDS = rf"words ::= [a-z\u00df-\u00ff\u0370-\u1fff\u3040-\ud7a3] {LINE}"
"""What there is to do. It begins with a letter and no Latin capital: a small model takes capitals, digits and dots for
another head of the list, and goes on with those."""


def choice_form(labels: Sequence[str], word: str = "Verdict", *, reasoned: bool = False) -> str:
    """One of these labels after a word; with a line before it where somebody hears the reason as well."""
    return _said(f'"{word}: " {_one_of(labels)}', reasoned)


def grade_form(scale: int, word: str = "Grade", *, reasoned: bool = False) -> str:
    """A whole number from 0 to `scale`, of at most 99, after a word; with a line before it as in `choice_form`."""
    return _said(f'"{word}: " {_number(scale)}', reasoned)


def ranking_form(labels: Sequence[str]) -> str:
    """The two best of these labels, or the one there is; who is left out of a ranking shares its last place."""
    if len(labels) < 2:
        return f'root ::= "Ranking: " {_one_of(labels)}'
    pairs = [f"{_text(best + ', ')} {_one_of([other for other in labels if other != best])}" for best in labels]
    return f'root ::= "Ranking: " ({" | ".join(pairs)})'


def scores_form(labels: Sequence[str], scale: int) -> str:
    """A whole number from 0 to `scale` for each of these labels."""
    return 'root ::= "Scores: " ' + ' ", " '.join(f"{_text(label + '=')} {_number(scale)}" for label in labels)


def keywords_form(known: Sequence[str], most: int) -> str:
    """Up to `most` of these words after "Keywords:"; any words if none are known."""
    return f'root ::= "Keywords: " {_one_of(known)} (", " {_one_of(known)}){{0,{most - 1}}}' if known else ""


def plan_form(who: Sequence[str] | None, most: int) -> str:
    """A numbered list of up to `most` lines, each of which begins with the letter of who does it, if there are any."""
    head = f'{_one_of(who)} ": " ' if who else ""
    nested = ""
    for number in range(min(most, MOST_LINES), 1, -1):
        nested = f" ({_text(f'{chr(10)}{number}. ')} {head}words{nested})?"
    return f'root ::= "1. " {head}words{nested}\n{WORDS}'


def fields_form(names: Sequence[str], *, reasoned: bool = False) -> str:
    """A line for each name, which begins with it and a colon; with a line before them as in `choice_form`."""
    return _said(' "\\n" '.join(rf"{_text(f'{name}: ')} [^ \n] {LINE}" for name in names), reasoned)


def query_form(columns: Sequence[str]) -> str:
    """A query of `motet.tables.query` over these columns, with up to two conditions."""
    return "\n".join(
        [
            'root ::= "Query: " ("count" | "sum" | "mean" | "min" | "max" | "list") "(" column ")" where?',
            'where ::= " where " condition (" and " condition)?',
            'condition ::= column " " ("=" | "!=" | ">" | ">=" | "<" | "<=") " " [^ \\n<>=!] [^\\n<>=!]{0,40}',
            f"column ::= {_one_of(columns)}",
        ]
    )


def either(*forms: str) -> str:
    """What is in one of these forms."""
    lines = [form.splitlines() for form in forms]
    rules = dict.fromkeys(rule for _, *rest in lines for rule in rest)
    return "\n".join(["root ::= " + " | ".join(f"({first.removeprefix('root ::= ')})" for first, *_ in lines), *rules])


def _said(line: str, reasoned: bool) -> str:
    return rf'root ::= [^ \n] {LINE} "\n" {line}' if reasoned else f"root ::= {line}"


def _number(scale: int) -> str:
    tens = [f'"{number}"' for number in range(min(scale, 99), 9, -1)]
    return f"({' | '.join([*tens, f'[0-{min(scale, 9)}]'])})"


def _one_of(labels: Sequence[str]) -> str:
    return f"({' | '.join(map(_text, labels))})"


def _text(words: str) -> str:
    """Words as a grammar quotes them."""
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
