"""Exact answers to questions that ask for plain arithmetic, and none to any other.

A member of a mixture that is right or silent is worth more than one that always speaks, so the rule here is:
every word and sign of the question has to be understood, and in one way only. The frame (greetings, "What
is", "Answer with a number only.") is peeled off by lists of known words, what remains is read by a small
grammar over exact fractions, and anything left over is doubt: `calculate` then abstains.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from motet.numbers import find_words, parse_words

MAX_CHARS = 20_000
"""Longest question that is read, in characters: room for many worked examples before the question itself."""

MAX_ASKED = 2_000
"""Longest request (what is left of the question without its frame), in characters."""

MAX_DEPTH = 32
"""Deepest nesting of parentheses and powers, far inside Python's recursion limit."""

MAX_DIGITS = 500
"""Most digits of an answer; steps on the way hold at most as many above and below the fraction bar.

Below 640, the least that Python may be told to allow between text and whole numbers.
"""

_MAX_BITS = math.ceil(MAX_DIGITS * math.log2(10))

_BARE, _QUESTION, _COMMAND = range(3)
"""How plainly the words ask for a computation: "9/3", "What is 9/3?", "Compute 9/3"."""


class _Doubt(Exception):
    """There is nothing to compute, or more than one way to read it."""


def calculate(question: str) -> str | None:
    """Answer a question that asks for arithmetic.

    Args:
        question: what was asked, in English words, signs or LaTeX; instructions on how to answer and worked
            examples ("Question: … Answer: …") may stand around it.

    Returns:
        The exact answer: digits for a whole number, a decimal where it ends ("0.875"), else a reduced
        fraction ("2/3"). None where nothing is to be computed, where the answer is undefined, not rational or
        longer than `MAX_DIGITS`, and where the question can be read in more than one way.

    Example:
        >>> calculate("What is 17 * 23? Answer with a number only.")
        '391'
        >>> calculate("What is fifteen percent of 240?"), calculate("Compute 3/4 + 1/8.")
        ('36', '0.875')
        >>> calculate("Mia has 5 apples and buys 3 more. How many apples does she have now?") is None
        True
    """
    if len(question) > MAX_CHARS:
        return None
    try:
        return _answer(_plain(question))
    except _Doubt:
        return None


# --- from the characters people type to a plain text --------------------------------------------------------


def _names(table: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Each dress of a sign with the sign's own name."""
    return {dress: name for name, dresses in table.items() for dress in dresses}


_SAME = str.maketrans(
    _names(
        {
            "×": "✕✖⨯∗⋅∙·",
            "-": "－﹣",
            "+": "＋",
            "/": "⁄∕",
            "'": "’‘ʼ",
            '"': "“”",
            " ": "\u00a0\u2009\u202f",
            "...": "…",
        }
    )
)
_LATEX = _names(
    {
        "×": [r"\times", r"\cdot", r"\ast"],
        "÷": [r"\div"],
        "√": [r"\sqrt"],
        "%": [r"\%"],
        r"\frac": [r"\dfrac", r"\tfrac"],
        " mod ": [r"\bmod", r"\mod"],
        " ": [r"\,", r"\;", r"\:", r"\!", r"\ ", r"\quad"],
        "": [r"\left", r"\right", r"\displaystyle"],
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def _plain(text: str) -> str:
    """One dress for each sign, lower case, one blank between words, no empty lines."""
    if re.search(r"[0-9]–[0-9]", text):
        raise _Doubt  # an unspaced en dash is how ranges, scores and years are written
    text = re.sub(r"(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))", ",", text).replace("{,}", ",")
    text = text.translate(_SAME).lower()
    text = re.sub(r"\\(?:[a-z]+|.)", lambda match: _LATEX.get(match.group(), match.group()), text)
    text = re.sub(r"[⁰¹²³⁴-⁹⁻]+", lambda match: f"^({match.group().translate(_SUPERSCRIPTS)})", text)
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    # A displayed formula stands on lines of its own, with its delimiters on others.
    text = re.sub(r"\$\$\s?([^$]*)\$\$", lambda match: f"${match[1].strip()}$", text)
    return re.sub(r"(\\[\[(])\s|\s(?=\\[\])])", r"\1", text)


# --- from the text to what it asks for ----------------------------------------------------------------------

_ASKS = re.compile(r"(?<!\S)(?:question|problem|exercise|q|user|human|input)(?: #?[0-9]+)?:")
_ANSWERS = re.compile(r"(?<!\S)(?:answer|solution|response|output|assistant|ai|a)(?: #?[0-9]+)?:")

_SENTENCE = re.compile(r"(?<=[?.;])\s|(?<=[a-z])[:!](?:\s|$)|(?<=[a-z]):|(?<=:)\s|\n")

_LEAD = re.compile(
    r"""(?:
        (?P<command> calculate|compute|evaluate|work\ out|figure\ out|solve|find|determine )
      | (?P<question> what\ (?:do|would|will)\ (?:you|i|we)\ get\ (?:if|when)\ (?:you|i|we)
          | (?:if|when)\ (?:you|i|we) | what\ number\ is | how\ (?:much|many)\ (?:is|are|does)
          | what(?:'s|s|\ is|\ are|\ does|\ would|\ will) )
      | please|kindly|just|now|so|ok|okay|well|hi|hello|hey|quick\ question|(?:can|could|would|will)\ you
      | (?:tell|show|give)\ (?:me|us)(?:\ what)? | do\ you\ know(?:\ what)? | let's | help\ me(?:\ to)?
      | i(?:'d\ like|\ would\ like|\ want|\ need)\ (?:you\ to|to\ know(?:\ what)?)
      | the\ (?:(?:exact|final|numeric|numerical)\ )?(?:value|result|answer|solution)
          (?:\ (?:of|to|for|when\ you|if\ you))?
      | the\ following(?:\ (?:expression|calculation|sum|problem))?
    )(?:[,:]\s?|\s|$)""",
    re.VERBOSE,
)
_TAIL = re.compile(
    r"""(?:
        \s?[?.]
      | (?P<equals> \s?= | \s(?:is\ )?equal\ to | \sequals? )
      | (?<=[\s=])_+
      | (?:\s|,\s?)(?: is|be|makes?|gives?|comes?\ to|what|how\ much|please|for\ me|thanks|thank\ you
          | what\ (?:do|will|would)\ (?:you|i|we)\ get | what(?:\ is|'s)\ (?:it|the\ (?:result|answer)) )
    )$""",
    re.VERBOSE,
)
_MAX_TAIL = 40  # longer than any one tail: so each is found without a search through all of the text
_WRAPPERS = (("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("`", "`"), ('"', '"'), ("'", "'"), ("**", "**"))

_INSTRUCTION_SIGNS = re.compile(r"[a-z ,.'\"()*`:;!\\{}-]*")
_INSTRUCTIONS = frozenset(
    re.findall(
        r"\S+",
        """
        a an the your my this that these following below above here only just simply exactly exact final single alone
        answer answers reply respond response return output print write state give provide put show say tell use using
        result results value number numbers numeric numerical numeral integer whole decimal digits figure plain text
        short brief briefly concise concisely direct directly question questions problem problems task expression
        calculation arithmetic math maths mathematics as in to with and or then be is are by for it its me us you
        format form name word line box boxed within inside calculate compute evaluate solve find think thinking step
        steps work working let let's careful carefully please kindly hi hello hey thanks thank q helpful
        assistant calculator
        """,
    )
)
"""Words of instructions that leave the answer as it is; "fraction", "rounded", "hexadecimal" do not."""
_NOTHING_ELSE = re.compile(
    r"\bnothing (?:else|more)\b|\b(?:one|a single) (?:word|number|line)\b"
    r"|\b(?:no|not|without|don't|do not)(?: (?:any|an|other|extra|additional|further|include|give|write|show|add))*"
    r" (?:explanations?|explain|text|words|units?|commas?|punctuation|steps|working|reasoning|comments?)\b"
)


class _Asked(NamedTuple):
    """A request without its frame: how plainly it asks for a number, and the words of how to answer."""

    text: str
    plainness: int
    demands: frozenset[str]


def _answer(text: str) -> str:
    """The answer to the last question of a text; worked examples before it must be right as read here."""
    before, *turns = _ASKS.split(text)
    if not turns:
        return _solve(before, _BARE)
    if any(_instruction(sentence) is None for sentence in _SENTENCE.split(before)):
        raise _Doubt
    *examples, last = turns
    for example in examples:
        asked, *answers = _ANSWERS.split(example)
        if len(answers) != 1:
            raise _Doubt
        try:
            expected = _solve(asked, _QUESTION)
        except _Doubt:
            continue
        # An example that shows another answer redefines the signs, or asks for another form of answer.
        shown = answers[0].strip(" .\n").replace(",", "")
        if expected not in re.findall(r"-?[0-9][0-9./]*(?<![./])", shown) and str(parse_words(shown)) != expected:
            raise _Doubt
    return _solve(last, _QUESTION)


def _solve(text: str, plainness: int) -> str:
    asked, *answers = _ANSWERS.split(text)
    sentences = [s for part in answers for s in _SENTENCE.split(part)]
    if any(_instruction(sentence) is None for sentence in sentences):
        raise _Doubt
    request = _asked(asked, plainness)
    value = _value(request)
    answer = _text(value)
    if (request.demands & {"whole", "integer"} and value.denominator > 1) or (
        "decimal" in request.demands and "/" in answer
    ):
        raise _Doubt
    if answer == request.text.replace(" ", ""):
        raise _Doubt  # "What is 1/3?": the question already is the answer
    return answer


def _asked(text: str, plainness: int) -> _Asked:
    """The one sentence that asks for something, without greetings, question words and instructions."""
    demands: frozenset[str] = frozenset()
    requests = []
    for sentence in _SENTENCE.split(text):
        rest, plain = _without_lead(sentence)
        if rest and (words := _instruction(sentence)) is not None:
            demands |= words
            plain = _COMMAND if words & {"calculate", "compute", "evaluate", "solve"} else _BARE
        elif rest:
            requests.append(rest)
        plainness = max(plainness, plain)
    if len(requests) != 1 or len(requests[0]) > MAX_ASKED:
        raise _Doubt
    body = requests[0]
    aside = re.search(r"[,;(] ?((?!(?:and|or|then)\b)[a-z'][a-z' ]*)\)?[.?]?$", body)
    if aside and (words := _instruction(aside[1])) is not None:
        body, demands = body[: aside.start()], demands | words
    before = ""
    while body != before:
        before = body
        if body.endswith(".."):
            raise _Doubt  # and so on
        if tail := _TAIL.search(body, max(0, len(body) - _MAX_TAIL)):
            plainness = max(plainness, _COMMAND if tail["equals"] else _BARE)
            body = body[: tail.start()].strip()
        for left, right in _WRAPPERS:
            inner = body[len(left) : -len(right)]
            if body == left + inner + right and left not in inner and right not in inner:
                body = inner.strip()
    return _Asked(body, plainness, demands)


def _without_lead(sentence: str) -> tuple[str, int]:
    rest, plainness = sentence.strip(), _QUESTION if "?" in sentence else _BARE
    while match := _LEAD.match(rest):
        if match["command"]:
            plainness = _COMMAND
        elif match["question"]:
            plainness = max(plainness, _QUESTION)
        rest = rest[match.end() :]
    return rest, plainness


def _instruction(sentence: str) -> frozenset[str] | None:
    """The words of a sentence that only says how to answer, else None."""
    if not _INSTRUCTION_SIGNS.fullmatch(sentence):
        return None
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", _NOTHING_ELSE.sub(" ", sentence))
    if words[:1] in (["is"], ["are"]):
        return None  # a question of its own: "Is the result a whole number?"
    return frozenset(words) if _INSTRUCTIONS.issuperset(words) else None


# --- from the request to its signs --------------------------------------------------------------------------

_SIGNS = _names(
    {
        **{sign: [sign] for sign in "%!()[]{},"},
        "+": ["+", "plus", "added to"],
        "-": ["-", "−", "–", "minus"],
        "*": ["*", "×", "times", "multiplied by"],
        "/": ["/", "÷", "divided by"],
        "^": ["^", "**"],
        "√": ["√", "sqrt"],
        "FRACTION": [r"\frac"],
        "mod": ["mod", "modulo"],
        "percent": ["percent", "per cent"],
        "POWER": ["to the power of", "to the power", "raised to the power of", "raised to the power"],
    }
)
"""What each sign, or word for one, is called in the grammar. Names in capitals are none that a text can hold."""

_PARTS = {"half": 2, "halves": 2} | {
    name + plural: size
    for size, names in enumerate(
        ["third", "quarter fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"], start=3
    )
    for name in names.split()
    for plural in ("", "s")
}
_TIMES = {"double": Fraction(2), "twice": Fraction(2), "triple": Fraction(3), "halve": Fraction(1, 2)}


def _any_of(words: Iterable[str]) -> str:
    """A pattern for signs and words, the longest first; a word must not go on."""
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word) + ("(?![a-z])" if word[-1].isalpha() else "") for word in longest_first)


_TOKEN = re.compile(
    rf"(?P<number>\.[0-9]+|[0-9]+(?:[.,][0-9]+)*)|(?P<sign>{_any_of(_SIGNS)})|(?P<word>[a-z]+)|(?P<blank> )"
)
_NAMES = re.compile(r"24[-/]7|9-5|7[0-9]7-[0-9]+|2x4|4x4")
_OPERATORS = frozenset("+-−–*×/÷^")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)?(?:\.[0-9]+)?")
_SERIES = re.compile(r"(?<![^\s(])[0-9]+([-/])[0-9]+(?:\1[0-9]+)+(?![^\s).,?!=]|[.,][0-9])")
_NTH_POWER = re.compile(rf"(?:raised )?to the (?:([0-9]+)(?:st|nd|rd|th)|({'|'.join(_PARTS)})) power(?![a-z])")
_HYPHENED_PART = re.compile(rf"(?<=[a-z])-(?=(?:{_any_of(_PARTS)}))")


class _Token(NamedTuple):
    """A number, sign or word: `raw` as written, `text` as the grammar calls it ("NUMBER" for every number)."""

    raw: str
    text: str
    start: int
    end: int
    value: Fraction = Fraction()

    @property
    def in_digits(self) -> bool:
        """Whether it is a number that is not in words."""
        return self.raw[-1].isdigit()


def _tokens(text: str) -> list[_Token]:
    """The numbers, signs and words of a request."""
    text = _NTH_POWER.sub(lambda nth: f"to the power of {nth[1] or _PARTS[nth[2]]}", text)
    text = _HYPHENED_PART.sub(" ", text)
    if _SERIES.search(text):
        raise _Doubt  # "2020-01-02", "555-123-4567", "12/25/2020", "4-4-2"
    in_words = {found.start: found for found in find_words(text)}
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        if found := in_words.get(at):
            tokens.append(_Token(text[at : found.end], "NUMBER", at, found.end, Fraction(found.value)))
            at = found.end
            continue
        match = _TOKEN.match(text, at)
        if not match:
            raise _Doubt
        raw, start, at = match.group(), at, match.end()
        if match["number"]:
            tokens += _numbers(raw, start)
        elif not match["blank"]:
            tokens.append(_Token(raw, _SIGNS.get(raw, raw), start, at))
    for index in range(1, len(tokens) - 1):
        if tokens[index].raw == "x" and _multiplies(*tokens[index - 1 : index + 2]):
            tokens[index] = tokens[index]._replace(text="*")
    if any(left.end == right.start and _torn(left, right) for left, right in pairwise(tokens)):
        raise _Doubt
    return tokens


def _torn(left: _Token, right: _Token) -> bool:
    """Whether two tokens that touch are parts of something else: "10th", "5k", "3x", "non-zero"."""
    if "x" in (left.raw, right.raw) and "*" in (left.text, right.text):
        return False
    a, b = left.raw[-1], right.raw[0]
    return (a.isalpha() and (b.isalnum() or b in _OPERATORS)) or (b.isalpha() and (a.isalnum() or a in _OPERATORS))


def _numbers(raw: str, start: int) -> list[_Token]:
    """The number that digits with points and commas write; more than one for a list without blanks ("1,2,3")."""
    if len(raw) > MAX_DIGITS:
        raise _Doubt
    if _GROUPED.fullmatch(raw):
        return [_Token(raw, "NUMBER", start, start + len(raw), Fraction(raw.replace(",", "")))]
    tokens: list[_Token] = []
    for part in raw.split(","):
        if not _DECIMAL.fullmatch(part):
            raise _Doubt  # "007", "1.2.3"
        if tokens:
            tokens.append(_Token(",", ",", start - 1, start))
        tokens.append(_Token(part, "NUMBER", start, start + len(part), Fraction(part)))
        start += len(part) + 1
    return tokens


def _multiplies(left: _Token, x: _Token, right: _Token) -> bool:
    """Whether this x is a sign: between numbers that are equally far from it, unlike in "3x (4 + 1)" and "0x10"."""
    gaps = (x.start - left.end, right.start - x.end)
    if gaps == (1, 1):
        return left.text in (")", "]", "NUMBER") and right.text in ("(", "[", "NUMBER")
    return gaps == (0, 0) and left.in_digits and right.in_digits and left.raw[0] != "0"


def _lookalike(tokens: Sequence[_Token], plainness: int) -> bool:
    """Whether numbers with one kind of sign are likely no arithmetic: a date, a range, a score, a size, a name."""
    sign = tokens[1].raw if len(tokens) > 2 else ""
    if plainness == _COMMAND or sign not in ("-", "–", "/", "x") or any(token.raw != sign for token in tokens[1::2]):
        return False
    if len(tokens) % 2 == 0 or not all(token.in_digits for token in tokens[::2]):
        return False
    spaced = tokens[0].end < tokens[1].start
    if _NAMES.fullmatch("".join(token.raw for token in tokens)):
        return True
    if plainness == _BARE and (not spaced or len(tokens) > 3):
        return True
    a, b = tokens[0].value, tokens[2].value
    if sign == "x":
        return plainness == _BARE or (a >= 200 and b >= 200 and a % 2 == b % 2 == 0)
    if plainness == _QUESTION and spaced:
        return False
    # Half plain: "What is 9/11?", "9 / 11", "What is 3-5?", "3 - 1".
    if sign == "/":
        return b in (0, 1) or a == b or a + b == 100 or (a <= 31 and (a / b).denominator > 1)
    return a <= b or (plainness == _BARE and a <= 200)


# --- from the signs to the number ---------------------------------------------------------------------------


class _Part(NamedTuple):
    """A value, and how it was said, which decides what may stand next to it without doubt.

    `open`: it ends in words that might go on to hold what follows ("half of 90", then "plus 10").
    `worded`: it ends in a word that might hold what came before ("3 plus", then "4 squared").
    `modulo`: it is a remainder, which mathematics and programming bind differently.
    """

    value: Fraction
    open: bool = False
    worded: bool = False
    modulo: bool = False


class _Parser:
    """Reads tokens and computes at once. Each method reads one construct; `at` is the next token.

    request   = command | sum
    sum       = product {("+" | "-") product}
    product   = signed {("*" | "/" | "mod") signed | "(" sum ")"}
    signed    = ["-"] power
    power     = postfix ["^" signed | "to the power of" item]
    postfix   = atom ["!" | "squared" | "cubed"]
    atom      = number | "(" sum ")" | root | fraction | phrase
    phrase    = ("sum of" | …) items | ("half of" | …) operand
    item      = signed number or group, or "3/4"
    """

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.steps = 0

    def request(self) -> Fraction:
        """The value of all tokens together."""
        value = self.command()
        if value is None:
            value = self.sum().value
        if self.at < len(self.tokens) or not self.steps:
            raise _Doubt
        return value

    # What the tokens are.

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def accept(self, *texts: str) -> bool:
        """Step over these tokens, if they are the next ones."""
        if all(self.peek(ahead) == text for ahead, text in enumerate(texts)):
            self.at += len(texts)
            return True
        return False

    def expect(self, *texts: str) -> None:
        if not self.accept(*texts):
            raise _Doubt

    def one_of(self, *texts: str) -> str:
        """The next token, stepped over if it is one of these; "" else."""
        text = self.peek()
        if text not in texts:
            return ""
        self.at += 1
        return text

    def touches(self, ahead: int = 0) -> bool:
        """Whether the next token stands right after the one before it, without a blank."""
        index = self.at + ahead
        return 0 < index < len(self.tokens) and self.tokens[index - 1].end == self.tokens[index].start

    def did(self, value: Fraction) -> Fraction:
        """Count one step of computing, and bound what it made."""
        self.steps += 1
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
            raise _Doubt
        return value

    def deeper(self, read: Callable[[], _Part]) -> _Part:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Doubt
        part = read()
        self.depth -= 1
        return part

    # "Multiply 17 by 23".

    def command(self) -> Fraction | None:
        verb = self.one_of(*_COMMANDS)
        return _COMMANDS[verb](self) if verb else self.inverted()

    def inverted(self) -> Fraction | None:
        """Such as "48 subtracted from 1000"."""
        if all(token.text != "subtracted" for token in self.tokens):
            return None
        less = self.item().value
        self.expect("subtracted", "from")
        return self.did(self.item().value - less)

    def multiply(self) -> Fraction:
        start = self.at
        first = self.item().value
        if self.accept("by") or self.accept("with"):
            return self.did(first * self.item().value)
        self.at = start
        return self.total("product")

    def divide(self) -> Fraction:
        first = self.item().value
        self.expect("by")
        return self.did(_divided(first, self.item().value))

    def add(self) -> Fraction:
        self.one_of("up", "together")
        start = self.at
        first = self.item().value
        if self.accept("to"):
            return self.did(first + self.item().value)
        self.at = start
        return self.total("sum")

    def subtract(self) -> Fraction:
        self.one_of("away")
        less = self.item().value
        self.one_of("away")
        self.expect("from")
        return self.did(self.item().value - less)

    def raised(self) -> Fraction:
        part = self.power()
        if not (part.open and part.worded):
            raise _Doubt
        return part.value

    def change(self, sign: int) -> Fraction:
        """Such as "increase 80 by 25%", "decrease 80 by 5"."""
        first = self.item().value
        self.expect("by")
        by = self.item().value
        return self.did(first + sign * (first * by / 100 if self.one_of("%", "percent") else by))

    # "(3 + 4)^2 / 7".

    def sum(self) -> _Part:
        first = part = self.product()
        value = part.value
        while sign := self.one_of("+", "-"):
            if part.open or part.modulo:
                raise _Doubt
            part = self.product()
            if part.modulo or (part.worded and not first.worded):
                raise _Doubt
            value = self.did(value + part.value if sign == "+" else value - part.value)
        return part._replace(value=value, worded=first.worded)

    def product(self) -> _Part:
        first = part = self.fraction_of() or self.signed()
        value, divided = part.value, False
        while True:
            implicit = self.peek() == "(" and self.implicit()
            sign = self.one_of("*", "/", "mod", "%") if not implicit else "*"
            if not sign:
                return part._replace(value=value, worded=first.worded)
            if part.open or part.modulo or (implicit and divided):
                raise _Doubt  # the last: "6/2(1 + 2)" is 9 to some and 1 to others
            if sign == "%" and self.touches(-1) != self.touches():
                raise _Doubt  # "17 % 5" is a remainder, "17% 5" is nothing
            number = self.peek() == "NUMBER"
            part = self.power() if implicit else self.signed()
            if (part.worded and not first.worded) or (sign != "*" and number and part.open):
                raise _Doubt  # the last: "100 divided by 5 percent of 40"
            if sign == "*":
                value = self.did(value * part.value)
            elif sign == "/":
                value, divided = self.did(_divided(value, part.value)), True
            else:
                value = self.did(_remainder(value, part.value))
                part = part._replace(modulo=True)

    def implicit(self) -> bool:
        """Whether the parenthesis that follows multiplies: "2(3 + 4)", "(1 + 2)(3 + 4)", but not "2^3(4)"."""
        if not self.touches():
            return False
        return self.peek(-1) in (")", "]", "}") or (
            self.tokens[self.at - 1].in_digits and self.peek(-2) not in ("^", "√")
        )

    def fraction_of(self) -> _Part | None:
        """Such as "3/4 of 80", where nothing but a sum can hold it."""
        if [self.peek(ahead) for ahead in range(4)] != ["NUMBER", "/", "NUMBER", "of"]:
            return None
        above, below = self.tokens[self.at].value, self.tokens[self.at + 2].value
        self.at += 4
        return self.share(_divided(above, below))

    def signed(self) -> _Part:
        if not self.minus():
            return self.power()
        part = self.power()
        if part.worded:
            raise _Doubt  # "-3 squared"
        return part._replace(value=-part.value)

    def minus(self) -> bool:
        if self.peek() == "-" and self.peek(-1) == "-" and self.touches():
            raise _Doubt  # "5--3": a dash, or minus minus
        return bool(self.one_of("-", "negative"))

    def power(self) -> _Part:
        base = self.postfix()
        sign = self.one_of("^", "POWER")
        if not sign:
            return base
        if base.open or base.worded:
            raise _Doubt
        if sign == "POWER":
            return _Part(self.did(_raised(base.value, self.item().value)), open=True, worded=True)
        exponent = self.deeper(lambda: self.group("}") if self.accept("{") else self.signed())
        if exponent.open or exponent.worded:
            raise _Doubt  # "2^3 squared"
        return _Part(self.did(_raised(base.value, exponent.value)))

    def postfix(self) -> _Part:
        part = self.atom()
        if self.peek() == "!" and self.touches() and self.peek(-1) in ("NUMBER", ")"):
            if self.tokens[self.at - 1].raw[-1].isalpha():
                raise _Doubt  # "What is five!" is loud
            self.at += 1
            return part._replace(value=self.did(_factorial(part.value)))
        word = self.one_of("squared", "cubed", "factorial")
        if not word:
            return part
        if part.open:
            raise _Doubt
        value = _factorial(part.value) if word == "factorial" else part.value ** (2 if word == "squared" else 3)
        return _Part(self.did(value), worded=True)

    def atom(self) -> _Part:
        if self.accept("NUMBER"):
            return self.number(self.tokens[self.at - 1].value)
        if bracket := self.one_of("(", "["):
            return self.group(")" if bracket == "(" else "]")
        if self.accept("√"):
            return self.root_sign()
        if self.accept("FRACTION"):
            self.expect("{")
            above = self.group("}").value
            self.expect("{")
            value = self.did(_divided(above, self.group("}").value))
            return self.share(value) if self.accept("of") else _Part(value)
        return self.deeper(self.phrase)

    def number(self, value: Fraction) -> _Part:
        """A number that was stepped over, with the words that make it a share: "15% of 240", "two thirds of 90"."""
        if self.accept("%", "of") or self.accept("percent", "of"):
            return self.share(value / 100)
        if part := self.one_of(*_PARTS):
            self.expect("of")
            if part.endswith("s") == (value == 1):
                raise _Doubt
            return self.share(value / _PARTS[part])
        return _Part(value)

    def share(self, factor: Fraction) -> _Part:
        return _Part(self.did(factor * self.operand().value), open=True)

    def group(self, closing: str) -> _Part:
        part = self.deeper(self.sum)
        self.expect(closing)
        return _Part(part.value)

    def root_sign(self) -> _Part:
        word = self.tokens[self.at - 1].raw == "sqrt"
        if self.accept("("):
            return _Part(self.did(_root(self.group(")").value, 2)))
        if self.accept("{"):
            return _Part(self.did(_root(self.group("}").value, 2)))
        self.expect("NUMBER")
        value = self.did(_root(self.tokens[self.at - 1].value, 2))
        if self.peek() in ("/", "^", "!", "%"):
            raise _Doubt  # "√9/16": how far does the root reach?
        return _Part(value, open=word)

    # "the sum of 3 and 4".

    def phrase(self) -> _Part:
        self.accept("the")
        if name := self.one_of("sum", "total", "product", "average", "mean"):
            self.expect("of")
            return _Part(self.total(name), open=True)
        if name := self.one_of("difference", "quotient"):
            if not self.one_of("of", "between"):
                raise _Doubt
            return _Part(self.did(self.pair(name)), open=True)
        if self.accept("remainder"):
            return _Part(self.did(self.remainder()), open=True)
        if self.accept("factorial", "of"):
            return _Part(self.did(_factorial(self.operand().value)), open=True)
        if name := self.one_of("square", "cube"):
            degree = 2 if name == "square" else 3
            if self.accept("root", "of"):
                return _Part(self.did(_root(self.operand().value, degree)), open=True)
            self.expect("of")
            return _Part(self.did(self.operand().value ** degree), open=True)
        if name := self.one_of(*_TIMES):
            return self.share(_TIMES[name])
        return self.part_of()

    def part_of(self) -> _Part:
        """Such as "half of 90", "a third of 90", "half the sum of 3 and 4"."""
        article = self.accept("a")
        part = self.one_of(*_PARTS)
        if not part or not (article or part == "half"):
            raise _Doubt
        if not self.accept("of") and not (part == "half" and self.peek() == "the"):
            raise _Doubt
        return self.share(Fraction(1, _PARTS[part]))

    def total(self, name: str) -> Fraction:
        first, *others = self.items()
        value = first
        for other in others:
            value = self.did(value * other if name == "product" else value + other)
        return self.did(value / (1 + len(others))) if name in ("average", "mean") else value

    def pair(self, name: str) -> Fraction:
        numbers = self.items()
        if len(numbers) != 2:
            raise _Doubt
        value = numbers[0] - numbers[1] if name == "difference" else _divided(*numbers)
        # Signed or not, with or without a remainder: only where these agree.
        if (name == "difference" and value < 0) or (name == "quotient" and value.denominator != 1):
            raise _Doubt
        return value

    def remainder(self) -> Fraction:
        """What follows the word: "when 17 is divided by 5", "when you divide 17 by 5", "of 17 divided by 5"."""
        if not self.one_of("when", "if", "of", "from"):
            raise _Doubt
        self.accept("you")
        by = "by" if self.one_of("divide", "dividing") else "/"
        divided = self.power()
        if divided.open or divided.worded:
            raise _Doubt
        if by == "/":
            self.accept("is")
        self.expect(by)
        return _remainder(divided.value, self.item().value)

    def operand(self) -> _Part:
        """What "half of" takes: another phrase, or one number."""
        if self.peek() in ("-", "negative"):
            return self.item()
        part = self.deeper(self.power)
        if part.worded:
            raise _Doubt  # "half of 4 squared"
        return part if part.open else self.with_bar(part)

    def item(self) -> _Part:
        """One number of a list: "-3", "3/4", "(2 + 3)", "5 squared"."""
        sign = -1 if self.minus() else 1
        part = self.power()
        if part.open or (part.worded and sign < 0):
            raise _Doubt
        part = self.with_bar(part)
        return part._replace(value=sign * part.value)

    def with_bar(self, part: _Part) -> _Part:
        """A number that was read, over another one that stands close: "3/4", but not "3 / 4"."""
        if [self.peek(ahead) for ahead in (-1, 0, 1)] != ["NUMBER", "/", "NUMBER"]:
            return part
        if not (self.touches() and self.touches(1)):
            return part
        self.at += 2
        return part._replace(value=self.did(_divided(part.value, self.tokens[self.at - 1].value)))

    def items(self) -> list[Fraction]:
        """A list of at least two: "1, 2 and 3"."""
        start = self.at
        parts = [self.item()]
        while self.accept(",", "and") or self.accept(",") or self.accept("and"):
            parts.append(self.item())
        if len(parts) < 2 or any(part.worded and not parts[0].worded for part in parts):
            raise _Doubt  # the last: "the sum of 3 and 4 squared"
        self.no_doubtful_commas(self.tokens[start : self.at])
        return [part.value for part in parts]

    def no_doubtful_commas(self, tokens: Sequence[_Token]) -> None:
        """Doubt "100,200 and 300" (two numbers, or three) and "one hundred and five and six"."""
        if any(" and " in token.raw for token in tokens):
            raise _Doubt
        doubtful = any("," in token.raw[1:] and ",0" not in token.raw for token in tokens)
        spaced = [left.end < right.start for left, right in pairwise(tokens) if left.text == ","]
        # Commas with blanks, or an ungrammatical list ("1,234 and 5,678"), tell the commas of numbers apart.
        if doubtful and not (all(spaced) if spaced else "," in tokens[-1].raw):
            raise _Doubt


_COMMANDS: dict[str, Callable[[_Parser], Fraction]] = {
    **dict.fromkeys(("multiply", "multiplying"), _Parser.multiply),
    **dict.fromkeys(("divide", "dividing"), _Parser.divide),
    **dict.fromkeys(("add", "adding"), _Parser.add),
    **dict.fromkeys(("subtract", "subtracting", "take", "taking"), _Parser.subtract),
    **dict.fromkeys(("raise", "raising"), _Parser.raised),
    "increase": lambda parser: parser.change(1),
    **dict.fromkeys(("decrease", "reduce"), lambda parser: parser.change(-1)),
}


def _value(request: _Asked) -> Fraction:
    """What a request comes to."""
    tokens = _tokens(request.text)
    # "What is 2 + 3!": a factorial, or joy? It counts where another one stands before it, or nothing else does.
    loud = tokens[-1:] and tokens[-1].text == "!" and len(tokens) > 2
    if _lookalike(tokens, request.plainness) or (loud and sum(token.text == "!" for token in tokens) < 2):
        raise _Doubt
    return _Parser(tokens).request()


def _divided(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise _Doubt
    return a / b


def _remainder(a: Fraction, b: Fraction) -> Fraction:
    if a.denominator != 1 or b.denominator != 1 or a < 0 or b <= 0:
        raise _Doubt  # conventions differ on signs
    return a % b


def _raised(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or (base == 0 and exponent <= 0):
        raise _Doubt
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * (size - 1) > _MAX_BITS:
        raise _Doubt  # known to be too long before it is computed
    return base**exponent.numerator


def _factorial(n: Fraction) -> Fraction:
    if n.denominator != 1 or not 0 <= n <= MAX_DIGITS:
        raise _Doubt
    return Fraction(math.factorial(n.numerator))


def _root(value: Fraction, degree: int) -> Fraction:
    """The exact root of a number that has one."""
    if value < 0:
        raise _Doubt
    above, below = (_whole_root(n, degree) for n in (value.numerator, value.denominator))
    return Fraction(above, below)


def _whole_root(n: int, degree: int) -> int:
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= n else (low, middle - 1)
    if low**degree != n:
        raise _Doubt
    return low


def _text(value: Fraction) -> str:
    """A number as digits, as a decimal where it ends, else as a fraction."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    places = max(twos, fives)
    if rest > 1 or places == 0:
        text = str(value)
    else:
        scaled = abs(value.numerator) * 10**places // value.denominator
        if scaled >= 10**MAX_DIGITS:
            raise _Doubt
        digits = str(scaled).rjust(places + 1, "0")
        text = f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    if sum(map(str.isdigit, text)) > MAX_DIGITS:
        raise _Doubt
    return text
