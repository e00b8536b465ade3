r"""Forms: grammars (GBNF) of what `motet.ballot` reads, for agents whose model can be held to one.

A composition that wants a ballot, a grade, a verdict or a list asks for it in words, and says with `Chat.held` which
form that has. An agent that is `held` then writes nothing else, where any other may give its reasons first: a small
model is read at all that way, a large one had better think. What is read is the same for both.

>>> print(choice_form(["STOP", "CONTINUE"]))
root ::= "Verdict: " ("STOP" | "CONTINUE")
>>> print(grade_form(10))
root ::= "Grade: " ("10" | [0-9])
>>> print(either(choice_form(["whole"]), plan_form(["A", "B"], 2)).splitlines()[0])
root ::= ("Verdict: " ("whole")) | ("1. " ("A" | "B") ": " words ("\n2. " ("A" | "B") ": " words)?)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_LINES = 12
"""Lines of a list that a model is held to, however many are allowed: grammars of nested options grow with each."""
SCRIPTS = r"\u0370-\u052f\u05d0-\u05ea\u0620-\u064a\u0904-\u0939\u3041-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
"""Letters that are not Latin, of the scripts most written, without their digits."""
LINE = r"[^\n]{1,80}"
"""The rest of a line: long enough for a task, and it ends, so that a model that never stops is not cut off."""
ANY = rf'"-"? [A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f{SCRIPTS}] [^\n]{{0,80}}'
"""A line of any words, which begins with one."""
VALUE = r"""[^ \t\r\n<>=!.;"'`*_] [^\n<>=!]{0,40}"""
"""What a column is compared with. It begins with what is no mark around it, so that something is left without those."""
WORDS = rf"words ::= [a-z\u00df-\u00f6\u00f8-\u00ff{SCRIPTS}] {LINE}"
"""What there is to do. It begins with a letter and no Latin capital: a small model takes capitals, digits and dots for
another head of the list, and goes on with those."""
ITEM = rf"item ::= [A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f{SCRIPTS}] {LINE}"
"""An item of a list whose heads have no letters, so that a capital is none of those."""


def fields_form(fields: Mapping[str, str], *, reasoned: bool = False) -> str:
    """A line for each field: its name, a colon, and a value of its grammar (`ANY`, `one_of`, `number`).

    Args:
        fields: the grammars of the values by name, in the order of the lines.
        reasoned: whether there is a line before them, where somebody hears the reason as well.
    """
    lines = [f"{_text(f'{name}: ')} {value}" for name, value in fields.items()]
    return "root ::= " + ' "\\n" '.join([*([rf"[^ \n] {LINE}"] if reasoned else []), *lines])


def choice_form(labels: Sequence[str], word: str = "Verdict", *, reasoned: bool = False) -> str:
    """One of these labels after a word."""
    return fields_form({word: one_of(labels)}, reasoned=reasoned)


def grade_form(scale: int, word: str = "Grade", *, reasoned: bool = False) -> str:
    """A whole number from 0 to `scale` after a word."""
    return fields_form({word: number(scale)}, reasoned=reasoned)


def lines_form(word: str, most: int) -> str:
    """Up to `most` lines, each of which begins with this word and a colon."""
    line = f"{_text(f'{word}: ')} {ANY}"
    return rf'root ::= {line} ("\n" {line}){{0,{min(max(most, 1), MOST_LINES) - 1}}}'


def ranking_form(labels: Sequence[str]) -> str:
    """The two best of these labels, or the one there is; who is left out of a ranking shares its last place."""
    if len(labels) < 2:
        return f'root ::= "Ranking: " {one_of(labels)}'
    pairs = [f"{_text(best + ', ')} {one_of([other for other in labels if other != best])}" for best in labels]
    return f'root ::= "Ranking: " ({" | ".join(pairs)})'


def scores_form(labels: Sequence[str], scale: int) -> str:
    """A whole number from 0 to `scale` for each of these labels."""
    return 'root ::= "Scores: " ' + ' ", " '.join(f"{_text(label + '=')} {number(scale)}" for label in labels)


def keywords_form(known: Sequence[str], most: int) -> str:
    """Up to `most` of these words after "Keywords:"; any words if none are known."""
    return f'root ::= "Keywords: " {one_of(known)} (", " {one_of(known)}){{0,{max(most, 1) - 1}}}' if known else ""


def plan_form(who: Sequence[str] | None, most: int) -> str:
    """A numbered list of up to `most` lines, each of which begins with the letter of who does it, if there are any."""
    line, rule = (f'{one_of(who)} ": " words', WORDS) if who else ("item", ITEM)
    nested = ""
    for number in range(min(most, MOST_LINES), 1, -1):
        nested = f" ({_text(f'{chr(10)}{number}. ')} {line}{nested})?"
    return f'root ::= "1. " {line}{nested}\n{rule}'


def query_form(columns: Sequence[str]) -> str:
    """A query of `motet.tables.query` over these columns, with up to two conditions; any words if there are none."""
    if not columns:
        return ""
    return "\n".join(
        [
            'root ::= "Query: " ("count" | "sum" | "mean" | "min" | "max" | "list") "(" column ")" where?',
            'where ::= " where " condition (" and " condition)?',
            rf'condition ::= column " " ("=" | "!=" | ">" | ">=" | "<" | "<=") " " {VALUE}',
            f"column ::= {one_of(columns)}",
        ]
    )


def either(*forms: str) -> str:
    """What is in one of these forms; any words if one of them is of any words.

    Raises:
        ValueError: two have different rules of the same name.
    """
    if not all(forms):
        return ""
    lines = [form.split("\n") for form in forms]
    rules = dict.fromkeys(rule for _, *rest in lines for rule in rest)
    if len({rule.partition(" ::= ")[0] for rule in rules}) < len(rules):
        raise ValueError("these forms have different rules of the same name")
    return "\n".join(["root ::= " + " | ".join(f"({first.removeprefix('root ::= ')})" for first, *_ in lines), *rules])


def number(scale: int) -> str:
    """The grammar of a whole number from 0 to `scale`."""
    if scale < 100:
        tens = [f'"{number}"' for number in range(scale, 9, -1)]
        return f"({' | '.join([*tens, f'[0-{min(scale, 9)}]'])})"
    digits = str(scale)  # a number of as many is smaller from one digit on, or the scale itself
    ways = [_text(digits), f"[1-9] [0-9]{{0,{len(digits) - 2}}}", '"0"']
    for place, digit in enumerate(digits):
        least = 0 if place else 1
        if int(digit) > least:
            same = [_text(digits[:place])] if place else []
            ways.append(" ".join([*same, f"[{least}-{int(digit) - 1}]", *["[0-9]"] * (len(digits) - place - 1)]))
    return f"({' | '.join(ways)})"


def one_of(labels: Sequence[str]) -> str:
    """The grammar of one of these texts."""
    return f"({' | '.join(map(_text, labels))})"


def _text(words: str) -> str:
    """Words as a grammar quotes them."""
    words = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in words) + '"'
