r"""Answers in one canonical form: the one place that says when two answers are the same answer.

A vote on text is only as good as this. `extract` finds the final answer inside a reply, `normalise` turns
it into a key, `same` compares two replies, `matches` compares a reply with the accepted answers of an item.

    >>> [normalise(x) for x in ("70{,}000", "$70,000.00", "7 \\times 10^4", "seventy thousand dollars")]
    ['70000', '70000', '70000', '70000']
    >>> extract("Paris has the most people, so the correct answer is **(B)** because it is largest.")
    'B'
    >>> same("So 17 * 23 is 391.", "\\boxed{391}")
    True

What counts as equal, where a choice had to be made:

* **Numbers** are compared exactly, as fractions: `1/2` = `0.5` = `\frac{1}{2}` = `one half`, but `1/3` is not
  `0.333`. `7e4` and `7 * 10^4` are numbers; other arithmetic is not evaluated (`2^10` is not `1024`).
* **Commas** between digits: groups of three (or Indian groups) are thousands, `1,234` = `1234`. A single comma
  with one or two digits after it is a decimal comma, `3,5` = `3.5`, and so is one after a lone zero, `0,125`. A
  list of such numbers needs a space, `3, 5`, or brackets, where a comma always separates: `(1,234)` is a pair. A
  dot is always a decimal point, except in `1.234,5`. Spaces, apostrophes and underscores group thousands too.
* **Units**: a number followed by a unit is the bare number: `12 km` = `12 kilometers` = `12`, `$18.00` =
  `18 dollars` = `18`, `50%` = `50 percent` = `50` (and not `0.5`). A unit is a known one, or plain plural nouns
  (`12 apples`, `5 cups of sugar`). The risk, taken because the question nearly always fixes the unit: `5 m` and
  `5 km`, `$5` and `5 cents`, `12 monkeys` and `12` count as equal. `5m` and `2x` stay as they are. So does a
  direction (`5 km north`); the base of a number does not (`221_3` is `221`).
* **About**: `about 5`, `~5` and `x = 5` are `5`. **Ordinals** equal each other, not the number: `1st` = `first`.
* **Yes** = true = correct; **no** = false = incorrect. **Letters**: `(B)` = `b)` = `option B` = `b`; several
  letters are an answer of their own, in the order given: `(A) and (C)` = `A, C`, and not `A`.
* **Sets** in braces have no order, `{2, 1}` = `{1,2}`; pairs and intervals keep theirs.
* **Dates** and clock times are left alone but for case and space; `5/6` is a fraction.

Everything here is pure, never raises, and takes time linear in the length: only the last 20,000 characters
of a reply are searched, and an answer of more than 512 characters is prose, folded but not parsed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Final

__all__ = ["extract", "is_maths", "matches", "normalise", "same"]

_SEARCHED: Final = 20_000
"""Characters at the end of a reply in which its answer is looked for."""
_FOLDED: Final = 4_096
"""Longest text given to NFKC, which is quadratic in runs of combining marks."""
_PARSED: Final = 512
"""Longest answer that is read as a number, a formula or a list."""
_SHORT: Final = 256
"""Longest text whose key and answer are remembered, so that remembering takes a few megabytes at most."""
_ROUNDS: Final = 64
"""Wrappers taken off one after another before an answer counts as hostile and is only folded."""

# ---------------------------------------------------------------------------------------------- folding

_ODD: Final = str.maketrans(
    {
        **dict.fromkeys(map(chr, (*range(0x20), 0x7F, *range(0x80, 0xA0))), " "),
        # Invisible: soft hyphen, zero-width and bidirectional marks, variation selectors, byte order mark.
        **dict.fromkeys(map(chr, (0xAD, 0x61C, 0x180E, 0xFEFF, *range(0xFE00, 0xFE10))), ""),
        **dict.fromkeys(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070))), ""),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("‘’‚‛´ʼ′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("×·⋅∙✕", "*"),
        **dict.fromkeys("÷⁄∕", "/"),
        # NFKC would make 11/2 of 1½.
        **{c: " " + unicodedata.normalize("NFKC", c).replace("⁄", "/") for c in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"},
        "π": "pi",
        "…": "...",
        "、": ", ",
        "，": ", ",
        "。": ". ",
    }
)
_DIGIT: Final = re.compile(r"(?![0-9])\d")
_RAISED: Final = re.compile("[⁰¹²³⁴-⁹⁺⁻]+|[₀-₉]+")  # NFKC would make 52 of 5², and 2213 of 221₃
_LEVEL: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉", "0123456789+-0123456789")


def _fold(text: str) -> str:
    """Case, width, dashes, quotes, invisible characters and space: what never tells answers apart."""
    for _ in range(8):  # folding case can undo NFKC and the other way round; it settles in two or three rounds
        folded = text
        if not folded.isascii():
            folded = _RAISED.sub(lambda m: ("_" if m[0][0] in "₀₁₂₃₄₅₆₇₈₉" else "^") + m[0].translate(_LEVEL), folded)
            folded = folded.translate(_ODD)
            if len(folded) <= _FOLDED:
                folded = unicodedata.normalize("NFKC", folded)
                folded = _DIGIT.sub(lambda m: str(unicodedata.decimal(m[0])), folded)
        elif not folded.isprintable():
            folded = folded.translate(_ODD)
        folded = " ".join(folded.casefold().split())
        if folded == text:
            break
        text = folded
    return text


# ---------------------------------------------------------------------------------------------- numbers


def _words(words: str) -> list[str]:
    """The words of a table, so that a table reads as one."""
    return words.split()


_INTEGER = (
    r"(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|[1-9]\d{0,2}(?: \d{3})+"
    r"|[1-9]\d{0,2}(?:'\d{3})+|[1-9]\d{0,2}(?:_\d{3})+|\d+)"
)
_DECIMAL = rf"(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d+|0,\d+|\d+,\d\d?|{_INTEGER}(?:\.\d*)?|\.\d+)(?![\d]|[_'] ?\d{{3}}|,\d)"
_POWER = r"10\^\(?(?:[+-]?\d{1,3})\)?"
_NUMBER: Final = re.compile(
    rf"(?P<sign>[+-]?) ?(?:(?P<whole>\d+) (?:and )?(?P<over>\d+/\d+)"
    rf"|(?P<power>{_POWER})"
    rf"|(?P<n>{_DECIMAL})(?:e(?P<exp>[+-]?\d{{1,3}})| ?[*x] ?(?P<times>{_POWER}))?(?: ?/ ?(?P<d>{_DECIMAL}))?)"
    rf"(?![\d^]|/\W*\d| \d)",
    re.ASCII,
)
_SIGN: Final = re.compile(r"[\u2212\ufe63\uff0d\u2013\u2012](?=[\d.])")
_MINUS: Final = re.compile(r"\b(?:minus|negative) (?=[\d.$€£¥₹])", re.IGNORECASE)
_CURRENCY: Final = re.compile(r"([+-]?) ?(?:us\$|[acs]\$|hk\$|nz\$|usd|eur|gbp|inr|rs\.?|[$€£¥₹]) ?(?=[\d.+-])")
_BASE: Final = re.compile(r"^_\(?\d\d?\)?$")
_ABOUT: Final = re.compile(r"(?:about|around|approximately|approx\.?|roughly|exactly|[~≈=]) ?(?=[\w.+$€£¥₹-])")

_SMALL: Final = {
    w: n
    for n, w in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
            " seventeen eighteen nineteen"
        )
    )
}
_TENS: Final = {
    w: 10 * n for n, w in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
} | {"fourty": 40}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_GROUPS: Final = _SCALES | {"hundred": 100, "dozen": 12}
_ORDINALS: Final = {
    w: n
    for n, w in enumerate(
        _words(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
            " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
        ),
        start=1,
    )
} | {f"{w[:-1]}ieth": n for w, n in _TENS.items()}
_PARTS: Final = {"half": 2, "quarter": 4} | {w: n for w, n in _ORDINALS.items() if 3 <= n <= 10}
_PART_PLURALS: Final = {"halves": 2} | {f"{w}s": n for w, n in _PARTS.items() if n != 2}
_NUMBER_WORDS: Final = frozenset(
    {*_SMALL, *_TENS, *_ORDINALS, *_PARTS, "a", "an", "dozen", "minus", "negative", "plus", "hundred", *_SCALES}
)

_UNITS: Final = frozenset(
    _words(
        """
        % percent pct °  °c °f degree degrees celsius fahrenheit kelvin radian radians rad deg
        $ € £ ¥ ₹ usd eur gbp inr dollar euro pound cent penny pence yen rupee peso buck
        m g s h l j w v mm cm km nm µm μm um dm mg kg µg μg ml cl dl kl hz khz mhz ghz kb mb gb tb bit byte
        pa kpa mpa atm bar psi kj mj kcal cal ev kev mev kw mw gw wh kwh mah kn nn ohm ω ma mv kv mol mmol
        ft yd mi oz lb lbs gal qt pt tsp tbsp in. ft. lb. oz. sq cu sec min hr hrs yr yrs mph kph kmh rpm wpm
        meter metre kilometer kilometre centimeter centimetre millimeter millimetre micrometer nanometer
        gram kilogram milligram tonne ton liter litre milliliter millilitre inch foot feet yard mile ounce gallon
        quart pint cup teaspoon tablespoon acre hectare stone
        second minute hour day week month year decade century centuries fortnight
        hertz watt kilowatt volt ampere amp joule calorie newton pascal coulomb tesla farad mole
        people person children child men man women woman mice teeth geese fish sheep unit time piece item point
        """
    )
)
_LONG_UNITS: Final = frozenset(
    {unit for unit in _UNITS if len(unit) > 1} | {f"{unit}s" for unit in _UNITS if len(unit) > 2} | set("°%$€£¥₹")
)
_BEFORE_UNIT: Final = frozenset(_words("square cubic whole full more total additional extra different"))
_AFTER_UNIT: Final = frozenset(
    _words("old long tall high wide deep away left each total remaining altogether more apart squared cubed")
)
_NEVER_UNIT: Final = frozenset(
    _words(
        """
        minus plus versus and but for from than the that then this thus not nor are was were has with
        his hers its ours yours theirs cos abs always perhaps across towards besides unless thousands millions billions
        hundreds others
        """
    )
)
_HYPHEN: Final = re.compile(r"(?<=[a-z])-(?=[a-z])")
_EXPONENT: Final = re.compile(r"(?<=[^\W\d])\^?\(?-?[1-4]\)?$")
_UNIT: Final = re.compile(
    # b cubic, w vacuum, u cleaners; a old; p per, r an, o of: "cubic inches", "miles an hour", "cups of brown sugar".
    r"b*w?u+a*(?:(?:pr?|r)[uw]u?)?(?:or?[uw]{1,2})?a*|pr?[uw]"
)
_JOINING: Final = {"per": "p", "of": "o", "a": "r", "an": "r", "the": "r"}


def _role(word: str) -> str:
    """What a word after a number can be, as one letter of the pattern `_UNIT`."""
    word = _EXPONENT.sub("", word)
    if word in _JOINING:
        return _JOINING[word]
    if word in _UNITS or (len(word) > 3 and word[-1] == "s" and word[:-1] in _UNITS):
        return "u"
    if word in _BEFORE_UNIT or word in _AFTER_UNIT:
        return "b" if word in _BEFORE_UNIT else "a"
    if len(word) < 3 or not word.isalpha() or word in _NEVER_UNIT or word in _MATH_WORDS:
        return "-"
    return "u" if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui" else "w"  # a plural, or not


def _is_unit(rest: str) -> bool:
    """Whether what follows a number only says of what: `km`, ` cubic inches`, ` miles per hour`, ` apples`."""
    if rest in ("%", " %", "°", '"', "'"):
        return True
    words = _HYPHEN.sub(" ", rest.replace("/", " per ").replace("*", " ").rstrip(".")).split()
    if not words or len(words) > 8:
        return False
    if rest[0] != " " and (words[-1] if rest[0] == "/" else words[0]) not in _LONG_UNITS:
        return False  # 5m, 2x and 1/x are more often algebra than metres, times and a rate
    return _UNIT.fullmatch("".join(map(_role, words))) is not None


def _decimal(text: str) -> Fraction:
    """The value of what `_DECIMAL` matched."""
    point = re.fullmatch(r"(\d{1,3}(?:\.\d{3})+|0|\d+),(\d+)", text)
    if point and ("." in point[1] or point[1] == "0" or len(point[2]) != 3):
        return Fraction(f"{point[1].replace('.', '')}.{point[2]}")
    plain = re.sub(r"[, '_]", "", text)
    return Fraction(f"0{plain}0" if "." in plain else plain)


def _ten(text: str) -> Fraction:
    """The value of what `_POWER` matched."""
    return Fraction(10) ** int(text[3:].strip("()"))


def _digits(text: str) -> tuple[Fraction, int] | None:
    """The number written in digits at the start of `text`, and where it ends."""
    m = _NUMBER.match(text)
    if m is None:
        return None
    try:
        if m["power"]:
            value = _ten(m["power"])
        elif m["whole"]:
            value = int(m["whole"]) + Fraction(m["over"])
        else:
            value = _decimal(m["n"])
            if m["exp"]:
                value *= Fraction(10) ** int(m["exp"])
            if m["times"]:
                value *= _ten(m["times"])
            if m["d"]:
                value /= _decimal(m["d"])
    except ZeroDivisionError:
        return None
    return (-value if m["sign"] == "-" else value), m.end()


def _cardinal(words: Sequence[str]) -> tuple[int, int]:
    """The whole number that `words` begin with, and how many of them it takes (0: none)."""
    total = group = used = 0
    last, limit = "start", 10**15
    if len(words) > 1 and words[0] in ("a", "an") and words[1] in _GROUPS:
        group, last, used = 1, "one", 1
    while used < len(words):
        word = words[used]
        if word in _SMALL and (
            last in ("start", "hundred", "scale", "and") or (last == "tens" and 1 <= _SMALL[word] <= 9)
        ):
            group, last = group + _SMALL[word], "one"
        elif word in _TENS and last in ("start", "hundred", "scale", "and"):
            group, last = group + _TENS[word], "tens"
        elif word == "hundred" and last in ("start", "one", "tens") and group < 100:
            group, last = (group or 1) * 100, "hundred"
        elif word in _SCALES and last in ("start", "one", "tens", "hundred") and _SCALES[word] < limit:
            limit = _SCALES[word]
            total, group, last = total + (group or 1) * limit, 0, "scale"
        elif word == "and" and last in ("hundred", "scale") and used + 1 < len(words):
            if words[used + 1] not in _SMALL and words[used + 1] not in _TENS:
                break
            last = "and"
        elif word == "dozen" and last in ("start", "one", "tens"):
            return (group or 1) * 12, used + 1
        else:
            break
        used += 1
    return total + group, used


def _part(words: Sequence[str], count: int) -> Fraction | None:
    """`third` after one, `thirds` after two: the fraction, if that is the first of `words`."""
    if not words:
        return None
    size = _PARTS.get(words[0]) if count == 1 else _PART_PLURALS.get(words[0])
    return Fraction(count, size) if size and count < size else None  # five quarters are coins


def _spelled(text: str) -> tuple[Fraction, str] | None:
    """The number written in words at the start of `text`, and the rest after it."""
    words = text.replace("-", " ").split()
    if not words or words[0] not in _NUMBER_WORDS:
        return None
    sign, words = (-1, words[1:]) if words[0] in ("minus", "negative") else (1, words[words[0] == "plus" :])
    if not words:
        return None
    value: Fraction
    if words[0] == "half" or (words[0] in ("a", "an") and len(words) > 1 and words[1] in _PARTS):
        used = 1 if words[0] == "half" else 2
        value = Fraction(1, _PARTS[words[used - 1]])
    else:
        whole, used = _cardinal(words)
        if not used:
            return None
        value = Fraction(whole)
        part = _part(words[used:], whole)
        if part is not None:
            value, used = part, used + 1
        elif words[used : used + 2] in (["and", "a"], ["and", "one"]):
            extra = _part(words[used + 2 :], 1)
            if extra is not None:
                value, used = value + extra, used + 3
        elif words[used : used + 1] == ["point"]:
            digits = ""
            while used + 1 + len(digits) < len(words) and _SMALL.get(words[used + 1 + len(digits)], 10) < 10:
                digits += str(_SMALL[words[used + 1 + len(digits)]])
            if digits:
                value, used = Fraction(f"{whole}.{digits}"), used + 1 + len(digits)
    return sign * value, "".join(f" {word}" for word in words[used:])


def _quantity(text: str) -> Fraction | None:
    """The number that the whole of `text` stands for, with its unit dropped; None if it is no number."""
    text = _ABOUT.sub("", text, count=1) if _ABOUT.match(text) else text
    text = _MINUS.sub("-", text, count=1) if _MINUS.match(text) else text
    text = _CURRENCY.sub(r"\1", text, count=1) if _CURRENCY.match(text) else text
    digits = _digits(text)
    if digits is not None:
        value, end = digits
        rest = _BASE.sub("", text[end:])
        head, _, tail = rest.strip().partition(" ")
        if head in _GROUPS:
            value, rest = value * _GROUPS[head], f" {tail}" if tail else ""
        elif value.denominator == 1 and (part := _part([head], int(value))) is not None:
            value, rest = part, f" {tail}" if tail else ""
        elif head == "and" and tail in ("a half", "one half"):
            value, rest = value + Fraction(1, 2), ""
    else:
        spelled = _spelled(text)
        if spelled is None:
            return None
        value, rest = spelled
    return value if not rest.strip() or _is_unit(rest) else None


def _show(value: Fraction) -> str:
    """A number's one spelling: an integer, else a decimal that ends within 30 places, else a fraction."""
    top, bottom = value.numerator, value.denominator
    if bottom == 1:
        return str(top)
    for places in range(1, 31):
        if 10**places % bottom == 0:
            digits = str(abs(top) * 10**places // bottom).zfill(places + 1)
            return f"{'-' if top < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return f"{top}/{bottom}"


def _ordinal(text: str) -> str | None:
    """`1st` for `first` and `1st`; None if `text` is no ordinal."""
    m = re.fullmatch(r"(\d{1,9})(?:st|nd|rd|th)", text, re.ASCII)
    if m:
        n = int(m[1])
    else:
        words = text.replace("-", " ").split()
        if not words or len(words) > 6 or words[-1] not in _ORDINALS:
            return None
        n, used = _cardinal([*words[:-1], "one"]) if len(words) > 1 else (1, 1)
        if used != len(words):
            return None
        n += _ORDINALS[words[-1]] - 1
    suffix = "th" if n // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


# ---------------------------------------------------------------------------------------------- formulas

_SIGNS: Final = {
    "times": "*", "cdot": "*", "div": "/", "pi": "pi", "infty": "∞", "infinity": "∞", "le": "≤", "leq": "≤",
    "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "pm": "±", "cup": "∪", "cap": "∩", "in": "∈", "circ": "°",
    "degree": "°", "approx": "≈", "emptyset": "∅", "varnothing": "∅", "ldots": "...", "dots": "...",
    "left": "", "right": "", "big": "", "bigl": "", "bigr": "", "displaystyle": "", "quad": " ", "qquad": " ",
    ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "%": "%", "$": "$", "(": "", ")": "", "[": "", "]": "",
    "{": "\ue000", "}": "\ue001", "\\": " ", "&": "&", "#": "#", "_": "_",
}  # fmt: skip
_COMMAND: Final = re.compile(r"\\([a-z]+|.)")
_WRAPPER: Final = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf|normal)?|math(?:rm|bf|it|sf|tt|bb|cal|normal)|mbox|hbox|operatorname\*?"
    r"|boxed|fbox|overline|underline|emph|bm|boldsymbol) ?\{([^{}]*)\}"
)
_ARGUMENT = r"(?:\{([^{}]*)\}|([a-z\d]))"
_FRACTION: Final = re.compile(rf"(\d ?)?\\[dtc]?frac ?{_ARGUMENT} ?{_ARGUMENT}")
_ROOT: Final = re.compile(r"\\?sqrt ?(?:\[ ?(\w+) ?\] ?)?(?:\{([^{}]*)\}|(\d+|[a-z](?![a-z])))")
_SCRIPT: Final = re.compile(r"([\^_]) ?\{([^{}]*)\}")
_MATH_WORDS: Final = frozenset(
    _words(
        """
        pi sqrt root sin cos tan cot sec csc arcsin arccos arctan log ln exp mod gcd lcm min max
        alpha beta gamma delta epsilon zeta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega
        """
    )
)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_MATH_SIGN: Final = re.compile(r"[\d=+*/^()<>≤≥≠∞±∪∩∈∅|-]")
_ASSIGNED: Final = re.compile(r"[a-z](?:_\w)? ?[=∈] ?(?=[^=∈,]+$)")


def _factor(text: str, denominator: bool = False) -> str:
    """`text` as part of a fraction on one line, in brackets where it needs them."""
    text = text.strip()
    if re.fullmatch(r"\d+|\.\d+|\d+\.\d+|[a-z]|[a-z]*\([^()]*\)" if denominator else r"-?[\w.]*(?:\([^()]*\))?", text):
        return text
    return f"({text})"


def _one_line_fraction(m: re.Match[str]) -> str:
    top, bottom = m[2] if m[3] is None else m[3], m[4] if m[5] is None else m[5]
    return f"{m[1].strip() + ' ' if m[1] else ''}{_factor(top)}/{_factor(bottom, denominator=True)}"


def _one_line_root(m: re.Match[str]) -> str:
    return f"root{m[1]}({m[2] or m[3]})" if m[1] else f"sqrt({m[2] or m[3] or ''})"


def _one_line_script(m: re.Match[str]) -> str:
    # x^{10}5 must not become x^105, so what is followed by more of the same keeps brackets.
    text, after = m[2].strip(), m.string[m.end() : m.end() + 1]
    return f"{m[1]}{text}" if re.fullmatch(r"-?\w*|°", text) and not after.isalnum() else f"{m[1]}({text})"


def _one_line_command(m: re.Match[str]) -> str:
    sign = _SIGNS.get(m[1], m[1])
    before, after = m.string[: m.start()][-1:], m.string[m.end() : m.end() + 1]
    if not sign.isalpha():
        return sign
    return f"{' ' if before.isalnum() else ''}{sign}{' ' if after.isalnum() or after == chr(92) else ''}"


def _delatex(text: str) -> str:
    r"""LaTeX on one line of plain text: `\frac{\sqrt{3}}{2}` is `sqrt(3)/2`."""
    text = (
        text.replace("\\{", "\ue000")
        .replace("\\}", "\ue001")
        .replace("{,}", ",")
        .replace("~\\", " \\")
        .replace("\\circ", "°")
        .replace("√", "\\sqrt ")
    )
    while "{" in text:  # from the inside out; every round takes braces away, so there is an end
        before = text
        text = _WRAPPER.sub(r" \1", text)
        text = _FRACTION.sub(_one_line_fraction, text)
        text = _ROOT.sub(_one_line_root, text)
        text = _SCRIPT.sub(_one_line_script, text)
        if text == before:
            break
    if "frac" in text:
        text = _FRACTION.sub(_one_line_fraction, text)
    if "sqrt" in text:
        text = _ROOT.sub(_one_line_root, text)
    text = _COMMAND.sub(_one_line_command, text)
    text = text.replace("$", "").replace("^°", "°").rstrip("\\")
    return " ".join(text.replace("\ue000", "{").replace("\ue001", "}").split())


def _formula(text: str) -> str | None:
    """`text` without the spaces and stars that mean nothing, if it is a formula; None if it is prose."""
    if not _MATH_SIGN.search(text):
        return None
    if any(len(word) > 1 and word not in _MATH_WORDS for word in _LETTERS.findall(text)):
        return None
    head, slash, tail = re.sub(r"(?<!\d) | (?!\d)", "", text).partition("/")
    return re.sub(r"(?<=[\w)])\*(?=[^\W\d]|\()", "", head) + slash + tail


# ---------------------------------------------------------------------------------------------- the key

_YES: Final = frozenset(_words("yes yeah yep true correct"))
_NO: Final = frozenset(_words("no nope false incorrect"))
_LETTER: Final = re.compile(r"(?:(?:option|choice|answer|letter) )?[(\[]?([a-z])[)\]]?[.:]?")
_ONE_LETTER: Final = re.compile(r"\b[a-j]\b")
_LETTERS_LIST: Final = re.compile(r"\(?[a-j]\)?(?:(?:, ?(?:and )?| and | & )\(?[a-j]\)?)+")
_INITIALS: Final = re.compile(r"(?<![\w.])[a-z]\.(?: ?[a-z]\.)+")
_SUBSCRIPT: Final = re.compile(r"(?<=[a-z])_(?=\d)")
_ARTICLE: Final = re.compile(r"(?:an?|the) (?=\w)(?!(?:and|or|is)\b)")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_QUOTES: Final = ("***", "**", "__", "*", "_", "```", "`", '"', "'", "~~")


def _unwrapped(text: str) -> str:
    """`text` without quotes, emphasis and punctuation around it."""
    for quote in _QUOTES:
        if len(text) > 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            return text[len(quote) : -len(quote)].strip()
    text = text.removeprefix("**").removesuffix("**").lstrip(",;:!?# ").rstrip(".,;:? ")
    if text.startswith("."):
        text = text.lstrip(".") if not text[1:2].isdecimal() else text
    if text.endswith("!") and not re.search(r"[\d)]!+$|^[a-z]!$", text):
        text = text.rstrip("! ")  # 5! is a factorial
    return text.strip()


def _split(text: str) -> list[str] | None:
    """The parts of `text` between commas outside brackets; None if its brackets don't match."""
    parts, start, closers = [], 0, ""
    for i, c in enumerate(text):
        if c in "([{":
            closers += _PAIRS[c]
        elif c in ")]}":
            if not closers:
                return None
            closers = closers[:-1]  # any closer: (1, 2] is an interval
        elif c == "," and not closers:
            parts.append(text[start:i])
            start = i + 1
    return None if closers else [*parts, text[start:]]


def _closes_at_end(text: str) -> bool:
    """Whether the bracket that `text` begins with is closed by its last character."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0:
            return i == len(text) - 1
    return False


def _bracketed(text: str, depth: int) -> str | None:
    """A pair, an interval or a set in one spelling; the inside of brackets that hold one thing."""
    if text[0] not in _PAIRS or text[-1] not in ")]}" or not _closes_at_end(text):
        return None
    parts = _split(text[1:-1])
    if parts is None or not text[1:-1].strip():
        return None
    if len(parts) == 1:
        return parts[0].strip() if _PAIRS[text[0]] == text[-1] else None
    parts = [_core(part.strip(), depth + 1) for part in parts]
    if text[0] == "{":
        parts.sort()
    return text[0] + ",".join(parts) + text[-1]


def _core(text: str, depth: int = 0) -> str:
    """One round of bringing a folded, short text to its key. `normalise` repeats it until nothing changes."""
    if not text or (text.isdecimal() and text[0] != "0"):
        return text
    if not (text.isalpha() or text.isdecimal()):
        if "\\" in text or "{" in text or "$" in text or "√" in text or "sqrt" in text:
            money = _CURRENCY.match(text)
            text = _delatex(text[: money.start()] + money[1] + text[money.end() :] if money else text)
        if all(unicodedata.category(c)[0] in "PZC" or c in "$^`" for c in text):
            return ""
        text = _unwrapped(_SUBSCRIPT.sub("", text))
    if text in _YES:
        return "yes"
    if text in _NO:
        return "no"
    letter = _LETTER.fullmatch(text)
    if letter:
        return letter[1]
    if _LETTERS_LIST.fullmatch(text):
        return ", ".join(_ONE_LETTER.findall(text))
    article = _ARTICLE.match(text)
    ordinal = _ordinal(text) or (article and _ordinal(text[article.end() :]))
    value = _quantity(text)
    if ordinal and not (value is not None and article):  # twenty-second is no time, and a third no place
        return ordinal
    if value is not None:
        return _show(value)
    if depth < 3:
        bracketed = _bracketed(text, depth)
        if bracketed is not None:
            return bracketed
        if "," in text:
            parts = _split(text)
            values = [_quantity(part.strip()) for part in parts or ()]
            if 1 < len(values) <= 32 and None not in values:
                return ", ".join(_show(value) for value in values if value is not None)
    assigned = _ASSIGNED.match(text)
    if assigned:
        return text[assigned.end() :]
    formula = _formula(text)
    if formula is not None:
        return "∞" if formula == "+∞" else formula
    if text in ("infinity", "positive infinity"):
        return "∞"
    if text in ("-infinity", "minus infinity", "negative infinity"):
        return "-∞"
    if text[:2] in ("- ", "• "):
        return text[2:]
    text = _INITIALS.sub(lambda m: re.sub("[. ]", "", m[0]), text)
    text = text[article.end() :] if article else text
    return text.replace(" the ", " ").replace(" & ", " and ")


def _remembering(work: Callable[[str], str]) -> Callable[[str], str]:
    """Remember what short texts give: votes and grading look at the same few words over and over."""
    known = lru_cache(maxsize=4096)(work)

    @wraps(work)
    def remembered(text: str) -> str:
        return known(text) if len(text) <= _SHORT else work(text)

    return remembered


@_remembering
def normalise(text: str) -> str:
    r"""The canonical key of an answer: two answers are one vote exactly when their keys are equal.

    It is idempotent, so a key is its own key. The module's docstring says what counts as equal.

    Args:
        text: a short answer, such as `extract` returns.

    Returns:
        The key; `""` if there is nothing but space and punctuation.

    >>> normalise("\\frac{1}{2}"), normalise("The Eiffel Tower."), normalise("(B)"), normalise("( 1, 0.50 )")
    ('0.5', 'eiffel tower', 'b', '(1,0.5)')
    """
    folded = key = _fold(text)
    for _ in range(_ROUNDS):
        # A key is returned only where another round changes nothing, or (below) where any text with the same
        # folded form takes the same way out. Both make the function idempotent without a proof about each rule.
        if len(key) > _PARSED:
            return key
        shorter = _fold(_core(key))
        if shorter == key:
            return key
        key = shorter
    return folded


# ---------------------------------------------------------------------------------------------- extraction

_THOUGHT: Final = re.compile(r"</(?:think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_NEXT_QUESTION: Final = re.compile(r"\n[*#\s]{0,9}(?:Question|Q|Human|User)(?: \d{1,3})?[*\s]{0,3}:")
_END: Final = re.compile(r"<\|?(?:eos|eos_token|im_end|end_of_text|endoftext|eot_id|end_of_turn|/s)\|?>", re.IGNORECASE)
_ROUND_UP: Final = re.compile(
    r"\n[^\n]{0,20}\b(?:combin|summari[sz]|consider|collect)\w{0,5}\b(?=[^\n]{0,30}\b(?:all|each|every|above|these)\b)"
    r"[^\n]{0,40}\b(?:answers?|questions?)\b|\n[^\n]{0,20}总结[^\n]{0,12}答案",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<(?:final_)?answer>", re.IGNORECASE)
_KEY: Final = re.compile(r"""["'](?:final[ _]?)?answer["']\s{0,9}:\s{0,9}""", re.IGNORECASE)
_JSON_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)("?)' + r"|'((?:[^'\\]|\\.)*)('?)", re.DOTALL)
_JSON_BARE: Final = re.compile(r"-?[\d.,/eE+]*\d|true|false|\[[^\]]{0,500}\]", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf])(?![a-z])|([\"'/\\]))")
_BOXED: Final = re.compile(r"\\f?boxed\s?\{")
_HASHES: Final = re.compile(r"^####[ \t]+(\S[^\n]*)$", re.MULTILINE)
_CUE: Final = re.compile(
    r"(?:\banswer|\b(?:correct|best|right|closest|final) (?:option|choice|statement|result|value))\b[*_]{0,3}"
    r"(?: (?:to|for|of|in|option|choice|here)\b[^.:?\n]{0,100}?| \([^()\n]{0,50}\))?"
    r" ?(?::|=|\b(?:is|was|should be|would be|must be|will be)\b)"
    r"(?: ?:|,? (?:therefore|thus|simply|indeed|clearly|option|choice|that)\b,?)?"
    r"|^[#*_ ]{1,8}(?:the |final )?answer[*_ ]{0,5}$",
    re.IGNORECASE | re.MULTILINE,
)
_UNASSERTED: Final = re.compile(
    r"\b(?:if|whether|what|wrong|incorrect|previous|possible|no|unless|not|another|your|their)(?: the| an?)?"
    r"(?: (?:correct|final|right))? $",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\W{0,4}(?:not|never|neither|unknown|unclear|incorrect|wrong|correct|right|obtained|rounded|based|given|found"
    r"|approximated|the same|as follows|provided|in the form|(?:likely |probably )?(?:one of|among))\b(?! option)",
    re.IGNORECASE,
)
_UNTRUE = r" (?:is|are|was) (?:also )?(?:incorrect|wrong|false|not (?:the |a )?(?:correct|right|true|answer))\b"
_REFUTED: Final = re.compile(rf"\W{{0,6}}(?:[Oo]ption |[Cc]hoice )?\(?[A-J]\b\W{{0,4}}{_UNTRUE}")
_CUT: Final = re.compile(r"(?<!\\)\\$")
_BEFORE_ANSWER: Final = re.compile(r"(?:[\s:>]|(?:\*\*|__)(?=\s))*")
_BOLD: Final = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_ANOTHER = r"\W{0,2}[,\s]\s?(?:and |or |& ?)?\(?[A-J]\b(?!(?<=[AI]) (?!and |or |& )[a-z])"
"""A further letter of a list; "D. A dog" and "D. I think" go on with a word."""
_CHOICE: Final = re.compile(
    # A letter in brackets, or one that something other than a word follows; not one of several, and no initial.
    r"\W{0,6}?(?:\\text(?:bf)?\{)?(?:[Oo]ption |[Cc]hoice )?"
    r"(?:\(([A-J])\)|([A-J])(?=[)}\].:;*\"'`$,\n]|\s*$|\s+(?:because|since|as|which|for|due|with|[-–—(])))"
    rf"(?!\.? ?[A-Z]\.)(?!{_ANOTHER})"
)
_LETTERED: Final = re.compile(
    r"([^()\n]{1,100}?)(?:,? or|,? i\.e\.,?|,? which (?:is|matches|corresponds to|is closest to)(?: the)?"
    r"(?: correct)?(?: option| choice| answer)?) \(([A-J])\)[.*\s]*(?:$|\n)"
)
_SAID: Final = re.compile(
    r"(?:\(([A-J])\)|(?:^|[.!?:,] |[Oo]ption |[Cc]hoice |[Aa]nswer )\**([A-J]))\**"
    r" (?:is|would be) \**(?:the )?(?:most |best )?(?:correct|right|answer|choice|option)"
    r"|\b[Oo]ption \(?([A-J])\)?(?=[\s.)*]{0,4}$)"
    r"|\b(?:is|be|closest to|[Hh]ence|[Tt]hus|[Ss]o|[Tt]herefore|choose|select|pick),? \(([A-J])\)(?![\w(])"
    rf"(?!{_ANOTHER})(?!{_UNTRUE})"
    r"|\bmak(?:es|ing) \(([A-J])\) the (?:most |best )?(?:correct|right|answer|choice|option)"
    r"|\bis the (?:correct |right |best )?(?:answer|choice|option) \(([A-J])\)(?=[.*\s]*$)"
)
_NONE_OF: Final = re.compile(r"\b(?:none|neither)\b[^.!?]{0,200}$", re.IGNORECASE)
_LEADING: Final = re.compile(r"\(([A-J])\) \S|([A-J])\) \S|(?:\*\*)?\(?([A-J])[.)]?(?:\*\*)?[.:]?[ \t]*\n")
_STOP: Final = re.compile(
    # The mark first, and then what stands before it: it is looked for several times as fast.
    r"[.!?](?=[*\"'”)]{0,3}(?:\s|$))(?:(?<![A-Z].)|(?<=°[CFK].))(?<!\b(?:[SDM][trs]|Jr|No|vs).)(?<!\b(?:Mrs|Inc).)"
)
_REASON: Final = re.compile(r",? (?:because|since|as it|as the|which|where|so that)\b|, (?:as|so|but)\b|; ")
_EQUALS: Final = re.compile(r"(?:=|≈|\b(?:is|are|was|were|be|equals|gives|makes|totals)\b)")
_NOT: Final = re.compile(
    r"\b(?:not|never|no|none|neither|nor|cannot|without|except|rather|instead|unlike|incorrect|wrong|false|unsure)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_HEDGE: Final = re.compile(
    r"\b(?:or|either|between|than|least|most|maybe|perhaps|up to|over|under|nearly|almost)\b", re.IGNORECASE
)
_POLITE: Final = re.compile(
    r"(?:sure|certainly|of course|okay|ok|great question|thus|so|therefore)[!,.:]? +", re.IGNORECASE
)
_IT_IS: Final = re.compile(
    r"(?:it|that|this|he|she|they|those|these)(?: (?:is|was|are|were)|['’]s) (?:\w+ by )?(?=\S)", re.IGNORECASE
)
_THE_OF: Final = re.compile(
    r"[Tt]he [^.?!\n]{0,80}? (?:of|in|for|on|that|who|which|to) [^.?!\n]{1,120}? (?:is|was|are|were) (?=[A-Z])"
)
_PLAINLY: Final = re.compile(r"(yes|no|true|false)(?:[,!;:—]|\.(?!\s?\d)|\s?[-–] )", re.IGNORECASE)


def _clean(text: str) -> str:
    """An answer as it was written, without the space, emphasis and full stop around it."""
    text = text.strip()
    for mark in ("**", "__", "`", '"', "$$", "'"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    if text.endswith(".") and not re.search(r"(?:\.\w|[A-Z]|\.)\.$", text):
        text = text[:-1].rstrip()
    for mark in ("**", "__"):
        if text.count(mark) == 1:
            text = text.replace(mark, "")
        elif len(text) > 4 and text.startswith(mark) and text.endswith(mark):
            text = text[2:-2]
    return text.strip()


def _is_number(answer: str) -> bool:
    """Whether an answer comes down to a number."""
    return len(answer) <= _PARSED and _quantity(normalise(answer)) is not None


def _last(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The last few matches of `pattern`, the last one first."""
    return reversed(list(pattern.finditer(text))[-8:])


def _sentence(text: str) -> str:
    """The first sentence of `text`, which has no line break."""
    stop = _STOP.search(text)
    return text[: stop.start()] if stop else text


def _tagged(text: str) -> str:
    for tag in _last(_TAG, text):
        end = re.compile(re.escape("</" + tag[0][1:]), re.IGNORECASE).search(text, tag.end())
        inside = text[tag.end() : end.start() if end else None].strip()
        if inside:
            return inside
    return ""


def _unescape(m: re.Match[str]) -> str:
    # Models write LaTeX into JSON with one backslash as often as with two, so \frac is not a form feed. A
    # surrogate half stays an escape: it is no character.
    if m[1]:
        code = int(m[1], 16)
        return m[0] if 0xD800 <= code < 0xE000 else chr(code)
    return m[3] or " "


def _json(text: str) -> str:
    """The value of the last `"answer":` that has one. Broken JSON is common, so nothing else is parsed."""
    for key in _last(_KEY, text):
        quoted = _JSON_STRING.match(text, key.end())
        if quoted:
            if not (quoted[2] or quoted[4]):
                continue  # cut off: what there is of it may not be the answer
            value = _ESCAPE.sub(_unescape, quoted[1] if quoted[1] is not None else quoted[3]).strip()
        else:
            bare = _JSON_BARE.match(text, key.end())
            value = bare[0] if bare else ""
        if normalise(value):
            return value
    return ""


def _boxed(text: str) -> tuple[int, str]:
    r"""Where the last complete `\boxed{...}` is, and what is in it."""
    for box in _last(_BOXED, text):
        depth = 1
        for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, box.end(), box.end() + 2000):
            depth += (brace[0] == "{") - (brace[0] == "}")
            if depth == 0:
                inside = text[box.end() : brace.start()].strip()
                if inside:
                    return box.start(), inside
                break
    return -1, ""


def _hashed(text: str) -> tuple[int, str]:
    """Where the last `#### 42` is: the last line, or any that holds just a number. Else it is a heading."""
    for line in _last(_HASHES, text):
        if not text[line.end() :].strip() or _is_number(line[1]):
            return line.start(), line[1].strip()
    return -1, ""


def _after(text: str) -> str:
    """The answer at the start of `text`, which follows "the answer is"; `""` if there is none."""
    choice = _CHOICE.match(text)
    if choice:
        return choice[1] or choice[2]
    lettered = _LETTERED.match(text) if " (" in text[:140] else None
    if lettered and not re.search(r"\b[A-J]\b", lettered[1]):
        return lettered[2]
    text = _BEFORE_ANSWER.sub("", text, count=1)
    bold = _BOLD.match(text)
    if bold:
        return _clean(bold[1])
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("```", "```")):
        if text.startswith(opening):
            inside, closed, _ = text[len(opening) :].partition(closing)
            return inside.strip() if closed else ""
    line = text.partition("\n")[0]
    sentence = _sentence(line)
    reason = _REASON.search(sentence)
    return _clean(sentence[: reason.start()] if reason else sentence)


def _cued(text: str) -> tuple[int, str]:
    """Where the reply last says "the answer is", and what it says it is."""
    for cue in _last(_CUE, text):
        if _UNASSERTED.search(text, max(0, cue.start() - 40), cue.start()):
            continue
        # "The answer is wrong" is a remark, "Answer: wrong" an answer.
        remark = not cue[0].endswith((":", "=", "*", "_"))
        if remark and (_DENIED.match(text, cue.end()) or _REFUTED.match(text, cue.end())):
            continue
        said = _after(text[cue.end() : cue.end() + 600])
        if said.count("{") > said.count("}") or _CUT.search(said):
            continue  # within a formula
        if normalise(said):
            return cue.start(), said
    return -1, ""


def _prose(text: str) -> str:
    """What a last sentence of the form "... is X" says, as far as that is safe; else `""`.

    A number is taken after the last "is" or "=" of any reply. Words are taken only when the reply is one
    sentence and says which way round it means it: "It is X", "The ... of ... is X". From "Paris is the
    capital of France" nothing is taken, since "Lyon is the capital of France" would give the same.
    """
    line = _POLITE.sub("", text.rsplit("\n", 1)[-1].strip().strip("*"), count=1)
    stops = [stop.end() for stop in _STOP.finditer(line[-1000:].rstrip(" .!*"))]
    sentence = line[-1000:][stops[-1] :].strip() if stops else line[-1000:]
    if sentence.endswith("?") or _NOT.search(sentence):
        return ""
    equals = list(_EQUALS.finditer(sentence))
    if equals:
        said = sentence[equals[-1].end() :].strip(" .!*_:")
        between = sentence[equals[0].end() :]
        if not re.search(r", |\band\b|\bor\b|\bthan\b", between) and _is_number(said):
            return said
    if stops or "\n" in text:
        return ""
    opening = _IT_IS.match(sentence) or _THE_OF.match(sentence)
    if opening:
        said = _clean(sentence[opening.end() :].rstrip("!"))
        if len(said.split()) <= 5 and not re.search(r"[,;:]| (?:and|or|because|than|that) ", said):
            return said
    return ""


def _look(text: str, depth: int = 0) -> str:
    """`extract` on a stripped text; what it finds may hold an answer in another dress."""
    whole = text
    text = text[-_SEARCHED:]
    if "</" in text:
        for end in _last(_THOUGHT, text):
            text = text[end.end() :].strip() or text
            break
    ended = _END.search(text) if "<" in text else None
    if ended and ended.start():
        text = text[: ended.start()].strip()
    beyond = _NEXT_QUESTION.search(text)
    if beyond and beyond.start():
        text = text[: beyond.start()].strip()  # a completion that went on to a question of its own
    several = (
        "answers" in text or "questions" in text or "each question" in text or "答案" in text
    )  # much faster to look for
    round_up = _ROUND_UP.search(text) if several else None
    if round_up and _ONE_LETTER.fullmatch(normalise(_cued(text[: round_up.start()])[1])):
        text = text[: round_up.start()].strip()  # all the answers: those to earlier questions too
    if text.startswith("```") and text.endswith("```") and text.count("```") == 2 and "\n" in text:
        text = text[text.index("\n") : -3].strip()

    found = (_tagged(text) if "<" in text else "") or _json(text)
    if not found:
        (at, found), hashed = (_boxed(text) if "boxed" in text else (-1, "")), _hashed(text)
        if hashed[0] > at:
            at, found = hashed
        said_at, said = _cued(text)
        # After a box, "the answer is ..." is a better answer only where it is plainly one.
        if said_at > at and (not found or len(normalise(said)) == 1 or _is_number(said)):
            found = said
    if found:
        return _look(found, depth + 1) if depth < 3 and len(found) < len(whole) else _clean(found)

    final = text.rsplit("\n", 1)[-1].strip()
    for said_is in _last(_SAID, final):
        if _NONE_OF.search(final, 0, said_is.start()):
            continue
        return said_is[said_is.lastindex or 0]
    leading = _LEADING.match(text)
    if leading and not re.search(r"(?<!\w)\(?[B-J]\)", text[leading.end() :]):
        return leading[leading.lastindex or 0]
    ending = final.rstrip(" .!:")
    if ending.endswith("**") and not final.endswith(":"):
        bold = ending[ending.rfind("**", 0, -2) + 2 : -2].strip()
        if ending.count("**") == 2 and 0 < len(bold) <= 60 and not bold.endswith(":"):
            return _clean(bold)
    if len(text) > 1 and not text.isalnum():
        plainly = _PLAINLY.match(text)
        if plainly:
            return plainly[1]
        said = _prose(text)
        if said:
            return said
    return _clean(text) if len(text) <= _PARSED else text if len(whole) <= _SEARCHED else whole


@_remembering
def extract(text: str) -> str:
    r"""The final answer inside a reply, as the reply wrote it.

    Looked for, in this order: `<answer>...</answer>`; `"answer": ...` in JSON; whichever comes last of
    `\boxed{...}`, `#### ...` and "the answer is ..."; "(B) is correct"; a leading "(B) ..."; bold at the
    end; "Yes, ..."; and a last sentence that says "... is 42". Thoughts before `</think>` are left out, and so
    is what follows when a completion goes on to ask itself a next question. An answer that the reply denies
    ("the answer is not B") or only supposes ("if the answer is B") is none.

    Args:
        text: the reply; of a long one the last 20,000 characters are searched.

    Returns:
        The answer; the stripped reply itself where nothing marks one.

    >>> extract('{"reasoning": "6 * 7", "answer": "42"}'), extract("6 * 7 = 42, so\nthe answer is $42$.")
    ('42', '$42$')
    >>> extract("The capital of France is Paris."), extract("Paris is the capital of France.")
    ('Paris', 'Paris is the capital of France')
    """
    return _look(text.strip())


def is_maths(text: str) -> bool:
    """Whether the whole of an answer is a number, a formula or a list of them, and not prose.

    >>> [is_maths(x) for x in ("3 km", "-3 + c", "2015 / 2016", "27, -3", "3 of them")]
    [True, True, True, True, False]
    """
    key = normalise(text)
    return len(key) <= _PARSED and (_quantity(key) is not None or _formula(key) is not None)


def same(a: str, b: str) -> bool:
    r"""Whether two replies give the same answer: the keys of what they say last are equal.

    >>> same("The answer is (C).", "C"), same("\\boxed{\\frac{3}{4}}", "0.75"), same("5 apples", "6 apples")
    (True, True, False)
    """
    return normalise(extract(a)) == normalise(extract(b))


# ---------------------------------------------------------------------------------------------- matching

_RETRACTED: Final = re.compile(
    r"\b(?:wait|actually|correction|sorry|mistake|however|alternatively|apolog\w+)\b", re.IGNORECASE
)
_LABEL: Final = re.compile(r"\W{0,3}([A-J])[.):] \S")
_DAY: Final = re.compile(
    r"\b(?:(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber)"
    r" \d{1,2}(?:st|nd|rd|th)?,? (?=\d{4})",
    re.IGNORECASE,
)
_LOOSE_NUMBER: Final = re.compile(rf"(?<![\w.,/:^-])-?{_DECIMAL}(?![\w/:^]|[.,]\d|-\d)", re.ASCII)
_NAME_BEFORE: Final = re.compile(r"\b(?!(?:In|About|Around|Exactly|Only|The|There|Yes|Just)\b)[A-Z]\w* $")
_VERB: Final = re.compile(r"[*_\"'”]{0,3} (?:is|are|was|were|has|had|wrote|painted|discovered|invented|composed)\b")
_LEADS_IN: Final = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|by|called|named|equals)|[=:]) (?:the |an? )?[*_\"'“(]{0,3}$", re.IGNORECASE
)
_OPENS: Final = re.compile(r"[\s*_\"'“(]{0,9}(?:the |an? )?[*_\"'“(]{0,3}$", re.IGNORECASE)
_ENDS: Final = re.compile(
    r"[*_\"'”)]{0,3}(?:[.!\s*]{0,3}$|[.!]\s|,? \(| in (?:the )?\d|, (?:the|an?|which|who|in|located|because|since)\b)"
)


def _only_number(text: str) -> str:
    """The key of the number in `text`, which is one sentence; `""` if there is none, or more than one."""
    text = _MINUS.sub("-", _SIGN.sub("-", _DAY.sub("", text)))
    found = []
    for m in _LOOSE_NUMBER.finditer(text):
        scale = text[m.end() :].split(maxsplit=1)[:1]
        scaled = scale and scale[0].strip(".,").casefold() in _GROUPS
        named = _NAME_BEFORE.search(text[max(0, m.start() - 40) : m.start()])  # Apollo 11
        found.append("" if named else f"{m[0]} {scale[0]}" if scaled else m[0])
    words = re.sub(r"[^\w\s]", " ", _LOOSE_NUMBER.sub(" | ", text.casefold())).split()
    at = 0
    while at < len(words):
        value, used = _cardinal(words[at:])
        if used and words[at : at + used] != ["one"] and words[at] not in _GROUPS:
            found.append(f"{'-' if at and words[at - 1] in ('minus', 'negative') else ''}{value}")
        at += used or 1
    return normalise(found[0]) if len(found) == 1 else ""


def _says(line: str, target: str) -> bool:
    """Whether `line` gives `target` as its subject or as what it ends in."""
    short = len(target) <= 2  # He is helium only as written, and never as a subject
    words = r"\s+".join(map(re.escape, target.split()))
    for m in re.finditer(rf"(?<!\w){words}(?!\w)", line, 0 if short else re.IGNORECASE):
        before, after = line[: m.start()], line[m.end() :]
        if _LEADS_IN.search(before[-40:]) and _ENDS.match(after):
            return True
        if not short and _OPENS.match(before) and _VERB.match(after):
            return True
    return False


def matches(answer: str, accepted: Sequence[str]) -> bool:
    """Whether a reply counts as one of the accepted answers of an item.

    Equal keys count. So does a short free-text reply in these cases only, since taking a wrong answer for right
    is worse than missing a right one:

    * the accepted answer is a letter, and the reply begins with it as a label: "B. Paris";
    * it is a number, and it is the only number in the reply's last sentence (but for the day in a date);
    * it is words, and the reply's first line says it as the subject ("Paris is the ...") or as what ends a
      statement ("... is Paris", "... by Jane Austen, who ..."): as whole words, not inside a longer name.

    None of these where the reply denies, compares, offers a choice, asks, or takes something back.

    Args:
        answer: the reply.
        accepted: the answers that count as right.

    >>> matches("Paris is the capital of France.", ["Paris"]), matches("It is not Paris.", ["Paris"])
    (True, False)
    >>> matches("There are seven days in a week.", ["7"]), matches("Five or seven.", ["7"])
    (True, False)
    """
    said = extract(answer)
    targets = {target: normalise(extract(target)) for target in accepted}
    targets = {target: key for target, key in targets.items() if key}
    if not targets or normalise(said) in targets.values():
        return bool(targets)
    if len(said) > _PARSED or _NOT.search(said) or _RETRACTED.search(said) or "?" in said:
        return False
    label = _LABEL.match(said)
    if label and label[1].lower() in targets.values():
        return True
    if _HEDGE.search(said):
        return False
    first, last = said.partition("\n")[0], said.rsplit("\n", 1)[-1].rstrip(" .!")
    stops = list(_STOP.finditer(last))
    number = _only_number(last[stops[-1].end() :] if stops else last)
    return any(
        number == key if _quantity(key) is not None else key not in ("yes", "no") and _says(first, target.strip())
        for target, key in targets.items()
    )
