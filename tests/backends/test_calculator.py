"""The calculator: exact where it answers, silent where the question is not plainly arithmetic."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from motet.backends.calculator import MAX_ASKED, MAX_CHARS, MAX_DEPTH, MAX_DIGITS, calculate

ANSWERS = {
    # signs
    "What is 17 * 23?": "391",
    "17 × 23": "391",
    "17 * 23": "391",
    "what's 17x23": "391",
    "What is 17 x 23?": "391",
    "17·23": "391",
    "17 * 23 =": "391",
    "17 * 23 = ?": "391",
    "17 * 23 = __": "391",
    "Calculate (3 + 4)^2 / 7": "7",
    "Compute [(3 + 4) * 2]^2.": "196",
    "3/4 + 1/8": "0.875",
    "1/3 + 1/3": "2/3",
    "1/3 - 1": "-2/3",
    "1,234 + 5": "1239",
    "1\u202f234 + 5": "1239",
    "1,234.5 * 2": "2469",
    "−3 + 5": "2",
    "5 - -3": "8",
    "2 * -3": "-6",
    "0.1 + 0.2": "0.3",
    ".5 + .25": "0.75",
    "What is 1 / 8 / 2?": "0.0625",
    "What is 10 - 4 - 3?": "3",
    "8 / 2 * 4": "16",
    "2 + 3 * 4": "14",
    "-2^2 + 0": "-4",
    "Compute -2^2": "-4",
    "(-2)^2": "4",
    "2^3^2": "512",
    "2**10": "1024",
    "2^-2": "0.25",
    "3² + 4²": "25",
    "2¹⁰": "1024",
    "2(3 + 4)": "14",
    "(1 + 2)(3 + 4)": "21",
    "3(4)^2": "48",
    "5!": "120",
    "What is 5!?": "120",
    "What is 5! + 3!?": "126",
    "3!^2": "36",
    "2^(3!)": "64",
    "17 mod 5": "2",
    "What is 17 % 5?": "2",
    "What is 2^10 mod 7?": "2",
    "√144": "12",
    "√144 + √25": "17",
    "sqrt(16) + 9": "13",
    "sqrt(16 + 9)": "5",
    "sqrt(2.25)": "1.5",
    "What is 1000-48?": "952",
    "1000 - 48": "952",
    "144 / 12": "12",
    "What is 100/8?": "12.5",
    "Compute 9/12": "0.75",
    "Compute 24/7 + 0/7": "24/7",
    "6.02 * 10^23": "602000000000000000000000",
    # words
    "17 times 23": "391",
    "multiply 17 by 23": "391",
    "Multiply 3, 4 and 5.": "60",
    "What's 15% of 240?": "36",
    "15 percent of 240": "36",
    "What is 15 % of 240?": "36",
    "What is 10 + 15% of 240?": "46",
    "half of 90": "45",
    "What is one half of 90?": "45",
    "What is a third of 90?": "30",
    "three-quarters of 80": "60",
    "What is 3/4 of 80?": "60",
    "double 21": "42",
    "twice the sum of 3 and 4": "14",
    "half the sum of 3 and 5": "4",
    "square root of 144": "12",
    "What is the square root of 9/16?": "0.75",
    "the square root of the sum of 9 and 16": "5",
    "What is the cube root of 27?": "3",
    "7 squared": "49",
    "3 squared plus 4 squared": "25",
    "What is 2 cubed?": "8",
    "2 to the power of 10": "1024",
    "2 raised to the power of 10": "1024",
    "2 to the 10th power": "1024",
    "two to the fifth power": "32",
    "Raise 2 to the power of 10.": "1024",
    "Subtract 48 from 1000": "952",
    "What is 48 subtracted from 1000?": "952",
    "Take 37 away from 82.": "45",
    "Take away 37 from 82.": "45",
    "the sum of 12 and 30": "42",
    "What is the product of 12 and 30?": "360",
    "What is the difference of 30 and 12?": "18",
    "difference between 30 and 12": "18",
    "the quotient of 144 and 12": "12",
    "sum of 1, 2 and 3": "6",
    "sum of 1,2 and 3": "6",
    "the sum of 1, 2, and 3": "6",
    "What is the sum of 1,000 and 5?": "1005",
    "What is the sum of 1,234 and 5,678?": "6912",
    "the sum of -3 and 5": "2",
    "the sum of 1/2 and 1/3": "5/6",
    "What is the average of 12, 18 and 27?": "19",
    "Add 12 and 30": "42",
    "Add 12 to 30": "42",
    "Divide 144 by 12": "12",
    "Divide 17 by 5.": "3.4",
    "remainder when 17 is divided by 5": "2",
    "What is the remainder when you divide 17 by 5?": "2",
    "the remainder of 17/5": "2",
    "five plus six": "11",
    "What is twenty-one times two?": "42",
    "one million minus one": "999999",
    "two hundred and five plus six": "211",
    "subtract one hundred and five from one thousand": "895",
    "fifteen percent of two hundred": "30",
    "negative five plus three": "-2",
    "5 added to 6": "11",
    "Increase 80 by 25%.": "100",
    "Decrease 80 by 25 percent": "60",
    "five factorial": "120",
    "the factorial of 5": "120",
    "What is 5 times the sum of 3 and 4?": "35",
    # frames
    "How much is 6 times 4?": "24",
    "What does 3 plus 4 equal?": "7",
    "17 times 23 is what?": "391",
    "Hi! Can you tell me what 17 * 23 is, please?": "391",
    "Please compute: 3 + 4": "7",
    "Compute the following:\n3 + 4": "7",
    "What is the value of 2 + 2?": "4",
    "What is the result of multiplying 17 by 23?": "391",
    "What do you get when you multiply 17 by 23?": "391",
    "If you multiply 17 by 23, what do you get?": "391",
    "WHAT IS 17 TIMES 23": "391",
    "What’s 2 + 2?": "4",
    "Solve: 3 + 4": "7",
    "Let's compute 3 + 4.": "7",
    "What is 17 * 23? Answer with a number only.": "391",
    "What is 17 * 23? Reply with just the number, no words, no explanation.": "391",
    "What is 17 * 23? Think step by step.": "391",
    "What is 17 * 23? Please put your final answer within \\boxed{}.": "391",
    "What is 17 * 23 (just the number)?": "391",
    "What is 17 * 23, answer with the number only": "391",
    "Reply with the answer alone: a word, a name or a number.\n\nWhat is 17 * 23?": "391",
    "Answer with an integer: 17 * 23": "391",
    "Give the answer as a decimal. What is 1 / 8?": "0.125",
    "Question: What is 17 * 23?\nAnswer:": "391",
    "Q: What is 17 * 23? A:": "391",
    "Question: What is 2 + 2?\nAnswer: 4\n\nQuestion: Who wrote Hamlet?\nAnswer: Shakespeare\n\n"
    "Question: 100 - 37\nAnswer:": "63",
    "Answer the following questions.\nQ: five plus six\nA: eleven\nQ: six plus seven\nA:": "13",
    "What is 17 * 23? The answer is": "391",
    'What is "17 * 23"?': "391",
    "What is `17 * 23`?": "391",
    "What is **17 × 23**?": "391",
    # LaTeX
    r"What is $17 \times 23$?": "391",
    r"Compute $\frac{3}{4} + \frac{1}{8}$.": "0.875",
    r"$\dfrac{1}{2} \cdot \left(3 + 4\right)$": "3.5",
    r"\(17 \cdot 23\)": "391",
    "Calculate\n\\[\n17 \\times 23\n\\]": "391",
    "Evaluate $$\n17 \\times 23\n$$": "391",
    r"What is $2^{10}$?": "1024",
    r"$\sqrt{144} + 1$": "13",
    r"$10{,}000 \div 8$": "1250",
    r"$17 \bmod 5$": "2",
    r"What is 15\% of 240?": "36",
}

ABSTENTIONS = [
    # words that are near to those of the grammar
    "What is number squared?",
    "What is half of number?",
    "What is 2 power 3?",
    "What is frac{3}{4} + 1?",
    "What is 3 third of 90?",
    "What is one thirds of 90?",
    "100 divided by 5 percent of 40",
    # signs that only look like LaTeX
    r"$15\%$ of 240",
    r"What is \$5 + 3?",
    # nothing to compute
    "",
    " ",
    "?",
    "What is 42?",
    "42",
    "-5",
    "(42)",
    "What is the capital of France?",
    "What is 50%?",
    "What is a half?",
    "Hello!",
    "What is",
    "Answer with a number only.",
    "What is 1/3?",
    "What is 3/4?",
    "What is 9 / 11?",
    "$42$",
    # other things made of numbers
    "12/25/2020",
    "2020-01-02",
    "What is 2020-01-02?",
    "What is 12/25/2020?",
    "What is 12/25?",
    "What is 9/11?",
    "What is 24/7?",
    "What is 50/50?",
    "What is 80/20?",
    "What is 50-50?",
    "What is 4x4?",
    "What is 747-400?",
    "What is 24-7?",
    "144/12",
    "24 / 7",
    "100 - 37",
    "1939 - 1945",
    "17 x 23",
    "What is a 4x4?",
    "What is 2x4?",
    "What is 1920x1080?",
    "1920 x 1080",
    "0x10",
    "What is 0x10 + 1?",
    "1e5 + 1",
    "555-123-4567",
    "Call 555-123-4567",
    "What is 555-1234?",
    "(555) 123-4567",
    "+1 555 123 4567",
    "1.2.3",
    "What is Python 3.11?",
    "192.168.0.1",
    "What is 192.168.0.1?",
    "3-1",
    "3 - 1",
    "The score was 3-1",
    "Who won 3-1?",
    "What is 4-4-2?",
    "1939–1945",
    "1939-1945",
    "What was 1939-1945?",
    "12:30",
    "What is 12:30 - 9:15?",
    "007 + 1",
    "What is 3 : 4?",
    "What is the 10th of 20?",
    "When did WW2 end, 1945 - ?",
    "1945 - ?",
    # questions that contain numbers
    "Is 7 a prime?",
    "Is 2 + 2 = 4?",
    "Is 5 less than 12?",
    "2 + 2 = 5?",
    "True or false: 2 + 2 = 4",
    "Which is larger, 3 * 4 or 5 * 2?",
    "What is 3 + 4 and 5 + 6?",
    "What is 2 + 2? What is 3 + 3?",
    "What is 17 * 23 = 391?",
    "What does 2 + 2 = 5 mean?",
    "How many digits does 2^10 have?",
    "What comes next: 1, 2, 3, ?",
    "Mia has 5 apples and buys 3 more. How many apples does she have?",
    "If 5 pencils cost 60 cents, how many cents do 8 cost?",
    "What is 5 apples plus 3 apples?",
    "What is 5 km + 3 km?",
    "What is $5 + $3?",
    "What is $5 * 3?",
    "What is 20% off 50?",
    "What percent of 50 is 10?",
    "How many seconds are in 24 hours?",
    "What is 15% of 240 people?",
    "What is pi * 2?",
    "What did Orwell write about in 1984 - and why?",
    "What is Fahrenheit 451?",
    "What is 3 + 4 in binary?",
    "Context: Bob has 5.\nQuestion: What is 3 + 4?",
    # algebra and functions that are not here
    "Solve: 3x + 5 = 11",
    "Solve 3x = 9",
    "Evaluate x + 2",
    "Expand 2(x + 1)",
    "2 x - 3",
    "3x (4 + 1)",
    "? + 3 = 7",
    "3 + _ = 7",
    "What plus 3 is 7?",
    "What is sin(0)?",
    "What is log 100?",
    "What is |-5| + 1?",
    "What is 5 choose 2?",
    "What is 17 // 5?",
    "What is the integral of 2 * 3?",
    "1 + 2 + 3 + ...",
    "1 + 2 + 3...",
    "the sum of 1, 2, 3, ...",
    "the sum of 1 to 10",
    "the sum of the first 10 integers",
    "Add 3, 4, and ?",
    "add 3, 4, ?",
    # more than one reading
    "6/2(1 + 2)",
    "What is 6 ÷ 2(1 + 2)?",
    "1/2(3)",
    "2^3(4)",
    "3√27",
    "√9/16",
    "sqrt 16 + 9",
    "square root of 16 plus 9",
    "half of 90 plus 10",
    "double 21 plus 3",
    "15% of 240 + 10",
    "50 + 10%",
    "17% 5",
    "the sum of 3 and 4 times 5",
    "the sum of 3 and 4, times 5",
    "the sum of 3 and 4 squared",
    "the sum of 100,200 and 300",
    "What is the product of one hundred and five and six?",
    "the product of one hundred and five",
    "3 plus 4 squared",
    "-3 squared",
    "minus 3 squared",
    "half of 4 squared",
    "2^3 squared",
    "2 to the power of 3 plus 1",
    "-2 to the power of 2",
    "5 + 17 mod 5",
    "17 mod 5 * 2",
    "-7 mod 3",
    "7.5 mod 2",
    "7 mod 0",
    "difference between 5 and 12",
    "the quotient of 17 and 5",
    "divide 12 into 3",
    "multiply 17 by 23 and add 4",
    "Multiply 3 by 4 + 5",
    "What is 2 + 3!",
    "What is five!",
    "3!!",
    "5--3",
    "5 +- - 3",
    "1 2 + 3",
    "2 1/2 + 1",
    "3,5 + 2",
    "1.234,5 + 1",
    "12,34 + 1",
    "five six plus one",
    "nineteen eighty-four plus one",
    "two point five plus one",
    "six-five",
    "five dozen plus one",
    "2 * (3 + 4",
    "2 * 3 + 4)",
    "(3 + 4]",
    "2 +",
    "* 3",
    "2 ** ** 3",
    "Take 5",
    "double",
    # undefined, not rational, too long
    "1/0 + 1",
    "What is 5 divided by 0?",
    "0^0",
    "0^-1",
    "square root of 2",
    "What is the square root of -4?",
    "2^0.5",
    "4^(1/2)",
    "(-1)!",
    "2.5!",
    "9^9^9",
    "9^9^9^9",
    "10^600",
    "2^-600",
    "1000!",
    "999999999!",
    "(-9)^999999999999",
    # instructions that change the answer, or ask for something else
    "What is 10 / 3? Round to two decimal places.",
    "What is 10 / 4? Answer with an integer.",
    "What is 10 / 3? Answer as a decimal.",
    "What is 3 / 4 + 1? Answer as a fraction.",
    "What is 17 * 23? Answer in words.",
    "What is 17 * 23? Answer in hexadecimal.",
    "What is 17 * 23? Answer yes or no.",
    "What is 17 * 23? Give the last digit.",
    "What is 17 * 23? Is the result an integer?",
    "What is 17 * 23? Then add 5.",
    "What is 17 * 23? And?",
    "What is 17 * 23 and __?",
    "What is 17 * 23?\nA) 391\nB) 401",
    "What is 17 * 23? A: 391 B: 401",
    "Do not answer. What is 17 * 23?",
    "Here + means minus. What is 5 + 3?",
    "Estimate 17 * 23",
    "Simplify 6/4 + 0",
    "Q: 2 * 3\nA: 5\nQ: 3 * 4\nA:",
    "Question: 2 + 2\nQuestion: 3 + 3\nAnswer:",
]


@pytest.mark.parametrize(("question", "answer"), ANSWERS.items())
def test_answers(question: str, answer: str) -> None:
    """What is plainly arithmetic is answered, exactly."""
    assert calculate(question) == answer


@pytest.mark.parametrize("question", ABSTENTIONS)
def test_abstains(question: str) -> None:
    """What is not plainly arithmetic, or has two readings, or no number, is left to others."""
    assert calculate(question) is None


def test_the_corpus_is_large_enough() -> None:
    """At least sixty of each, each once."""
    assert len(ANSWERS) >= 60
    assert len(set(ABSTENTIONS)) == len(ABSTENTIONS) >= 60


SUITE = [
    json.loads(line) for line in (files("motet.bench") / "suites" / "general.jsonl").read_text("utf-8").splitlines()
]
FRAMES = (
    "{}",
    "Reply with the answer alone: a word, a name or a number.\n\n{}",
    "{} Answer with a number only.",
    "Question: What is 2 + 2?\nAnswer: 4\n\nQuestion: {}\nAnswer:",
)


@pytest.mark.parametrize("frame", FRAMES)
def test_the_built_in_suite(frame: str) -> None:
    """All arithmetic of the built-in suite is answered right; knowledge and word problems are left to others."""
    for task in SUITE:
        answer = calculate(frame.format(task["input"]))
        if task["topic"] == "arithmetic":
            assert answer in task["target"], task
        else:
            assert answer is None, task


@settings(deadline=None)
@given(st.sampled_from([question for question in ANSWERS if ":" not in question]), st.data())
def test_an_unknown_word_anywhere_is_doubt(question: str, data: st.DataObject) -> None:
    """Whatever a word means that the calculator does not know, it does not answer over it."""
    words = question.split(" ")
    place = data.draw(st.integers(0, len(words)))
    unknown = data.draw(st.sampled_from(["apples", "not", "roughly", "y", "group", "power", "frac", "dozen", "cents"]))
    assert calculate(" ".join([*words[:place], unknown, *words[place:]])) is None


# Expressions as trees, each dressed in several ways and computed apart from the calculator.


@dataclass(frozen=True)
class Tree:
    """A leaf (a literal: `op` is its text), or an operation on one or two trees."""

    op: str
    parts: tuple[Tree, ...] = ()

    def value(self) -> Fraction:
        """What it comes to, by Python's own operators."""
        values = [part.value() for part in self.parts]
        value = OPERATIONS[self.op](*values) if self.parts else Fraction(self.op)
        if max(abs(value.numerator), value.denominator) >= 10**150:
            raise OverflowError
        return value


OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a ** int(b),
    "neg": lambda a: -a,
}
SUM, PRODUCT, SIGNED, POWER, ATOM = range(5)
LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "neg": SIGNED, "^": POWER}


@dataclass(frozen=True)
class Dress:
    """How to write a tree: the signs, the parentheses, and whether "/" is a LaTeX fraction."""

    signs: dict[str, str]
    left: str = "("
    right: str = ")"
    fractions: bool = False
    implicit: bool = False
    tight: bool = False
    frame: str = "Calculate {}."

    def write(self, tree: Tree, level: int = SUM) -> str:
        """The text of a tree, with parentheses where the level asks for them and nowhere else."""
        if not tree.parts:
            return tree.op
        if tree.op == "/" and self.fractions:
            return rf"\frac{{{self.write(tree.parts[0])}}}{{{self.write(tree.parts[1])}}}"
        own, (first, *others) = LEVELS[tree.op], tree.parts
        if tree.op == "neg":
            text = self.signs["neg"] + self.write(first, POWER)
            own = SUM - 1 if self.tight else own
        elif tree.op == "^":
            exponent = self.write(others[0], SIGNED)
            braces = f"{{{self.write(others[0])}}}" if self.fractions else exponent
            # A fraction stands as high as an atom, but its power needs parentheses to be seen.
            base = self.write(first, ATOM) if not (self.fractions and first.op == "/") else self.wrap(self.write(first))
            text = f"{base}^{braces}"
        elif tree.op == "*" and self.implicit:
            text, own = self.wrap(self.write(first)) + self.wrap(self.write(others[0])), SUM - 1
        else:
            text = f"{self.write(first, own)}{self.signs[tree.op]}{self.write(others[0], own + 1)}"
        return self.wrap(text) if own < level else text

    def wrap(self, text: str) -> str:
        """The text in parentheses."""
        return f"{self.left}{text}{self.right}"


DRESSES = {
    "signs": Dress({"+": " + ", "-": " - ", "*": " * ", "/": " / ", "neg": "-"}),
    "tight": Dress({"+": "+", "-": "-", "*": "*", "/": "/", "neg": "-"}, tight=True, frame="{} ="),
    "unicode": Dress({"+": " ＋ ", "-": " − ", "*": " × ", "/": " ÷ ", "neg": "−"}, frame="What is {}?"),
    "words": Dress({"+": " plus ", "-": " minus ", "*": " times ", "/": " divided by ", "neg": "-"}),
    "LaTeX": Dress(
        {"+": " + ", "-": " - ", "*": r" \cdot ", "neg": "-"}, r"\left(", r"\right)", True, frame="Evaluate ${}$."
    ),
    "implicit": Dress({"+": " + ", "-": " - ", "/": " / ", "neg": "-"}, implicit=True, frame="Compute: {}"),
}

LITERALS = st.one_of(
    st.integers(0, 9999).map(str),
    st.decimals(0, 99, places=2, allow_nan=False).map(lambda number: f"{number:f}"),
).map(Tree)
EXPONENTS = st.integers(0, 4).map(lambda n: Tree(str(n))) | st.integers(1, 2).map(
    lambda n: Tree("neg", (Tree(str(n)),))
)
TREES = st.recursive(
    LITERALS,
    lambda trees: st.one_of(
        st.tuples(st.sampled_from("+-*/"), trees, trees).map(lambda t: Tree(t[0], t[1:])),
        st.tuples(trees, EXPONENTS).map(lambda t: Tree("^", t)),
        trees.map(lambda tree: Tree("neg", (tree,))),
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("name", DRESSES)
@settings(deadline=None)
@given(tree=TREES)
@example(tree=Tree("neg", (Tree("^", (Tree("2"), Tree("2"))),)))
@example(tree=Tree("/", (Tree("6"), Tree("*", (Tree("2"), Tree("+", (Tree("1"), Tree("2"))))))))
@example(tree=Tree("-", (Tree("1"), Tree("-", (Tree("2"), Tree("neg", (Tree("3"),)))))))
def test_any_expression_in_any_dress(name: str, tree: Tree) -> None:
    """An expression comes to exactly what Python's fractions make of it, however it is written."""
    dress = DRESSES[name]
    text = dress.write(tree)
    assume(_computes(tree))
    # "1-2-3" and "8/4/2" are shapes of dates and telephone numbers, and abstained from.
    assume(not re.search(r"(?<![^\s(])[0-9]+([-/])[0-9]+(\1[0-9]+)+(?![^\s)])", text))
    question = dress.frame.format(text)
    try:
        value = tree.value()
    except ZeroDivisionError:
        assert calculate(question) is None, question
        return
    except OverflowError:
        return
    if _zero_to_the_zero(tree):
        assert calculate(question) is None, question
        return
    answer = calculate(question)
    if answer is None:  # it was the answer itself that was asked for: "Calculate 1/3."
        assert str(value) == text.replace(" ", ""), question
        return
    assert Fraction(answer) == value, question
    assert re.fullmatch(r"-?[0-9]+(\.[0-9]*[1-9]|/[0-9]+)?", answer), question


def _computes(tree: Tree) -> bool:
    return tree.op in "+-*/^" or any(_computes(part) for part in tree.parts)


def _zero_to_the_zero(tree: Tree) -> bool:
    if tree.op == "^" and tree.parts[0].value() == 0 and tree.parts[1].value() == 0:
        return True
    return any(_zero_to_the_zero(part) for part in tree.parts)


@settings(deadline=None)
@given(st.lists(st.integers(-999, 999), min_size=2, max_size=5), st.sampled_from([", ", ",", " and "]))
def test_lists_of_numbers(numbers: list[int], comma: str) -> None:
    """Sums, products and averages of lists; three digits after a lone comma are doubt or right, never wrong."""
    text = f"{comma.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    product = 1
    for number in numbers:
        product *= number
    expected = {
        "sum": Fraction(sum(numbers)),
        "product": Fraction(product),
        "average": Fraction(sum(numbers), len(numbers)),
    }
    for name, value in expected.items():
        answer = calculate(f"What is the {name} of {text}?")
        if answer is None:
            assert comma == ","
            assert re.search(r",[1-9][0-9]{2}\b", text)
        else:
            assert Fraction(answer) == value


@settings(deadline=None)
@given(st.text())
@example("\\frac{")
@example("½ + ²")
@example("٣ + ٤")
@example("\ud800 + 1")
def test_no_text_raises(text: str) -> None:
    """Any text gets an answer or None."""
    calculate(text)


PIECES = [*"0123456789+-*/^%!()[]{}√,.?=x$_:;\\'\" \n²–−", "12", "1,234", "0", "9^9", " of ", "the ", "half ", "sum "]
PIECES += [
    "what is ",
    "and ",
    "five ",
    "hundred ",
    "percent ",
    "squared ",
    "mod ",
    r"\frac",
    "to the power of ",
    "add ",
    "by ",
]
PIECES += ["remainder when ", "square root ", "question:", "answer:", "is ", "double ", "third ", "subtracted from "]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_arithmetic_raises(text: str) -> None:
    """Texts made of the pieces of questions get a number, or None."""
    answer = calculate(text)
    assert answer is None or len(re.sub("[^0-9]", "", answer)) <= MAX_DIGITS
    assert answer is None or re.fullmatch(r"-?[0-9]+(\.[0-9]+|/[0-9]+)?", answer)


HOSTILE = [
    "(", ")", "((", "1+", "-", "--", "9^", "1^", "!", "5!*", "the ", "what is ", "half of ", "half of (", "a ", "and ",
    "one hundred and ", "_", "_x", " ", " \n", ",", "1,", "1,234", "9", "9.", "1/3+", "9^500+", "9^99/7^99*", "x ",
    "3x", "?", "=", "= ?", "please ", "$", "$$", "$$ ", r"\frac{1}{", r"\frac{1}{2}+", "√", "√(", "{", "Q: 2 + 2 A: 4 ",
    "Q: ", "A: ", "question", "sum of ", "3 and ", ", what ", "answer with ", "no ", "no any ", "(a ", "-1", "1-", "1/",
    "²", "2 times ", "to the power of ", "2^(", "**", "'", "don't ", "\\", ".", "..", "a:", "\u2028", "½",
]  # fmt: skip


@pytest.mark.parametrize("head", ["", "Calculate 1+"])
def test_work_is_bounded(head: str) -> None:
    """The longest text that is read, of whatever kind, takes under two seconds of work, and a longer one no time."""
    for piece in HOSTILE:
        long = head + piece * ((MAX_CHARS - len(head)) // len(piece) - 1) + "1"
        start = time.process_time()
        calculate(long)
        calculate(long[: MAX_ASKED - 1])  # short enough to be parsed, not only to be read
        assert time.process_time() - start < 2, repr(head + piece)
    assert calculate("1 + 1 = " + "?" * MAX_CHARS) is None


def test_depth_is_bounded() -> None:
    """Nesting up to the limit is answered, and one deeper is not."""
    assert calculate("(" * MAX_DEPTH + "1 + 1" + ")" * MAX_DEPTH) == "2"
    assert calculate("(" * (MAX_DEPTH + 1) + "1 + 1" + ")" * (MAX_DEPTH + 1)) is None
    assert calculate("(" * 100_000 + "1 + 1" + ")" * 100_000) is None
    assert calculate("^".join(["1"] * MAX_DEPTH)) == "1"
    assert calculate("^".join(["1"] * 500)) is None


def test_digits_are_bounded() -> None:
    """An answer of as many digits as the limit is given, and one digit more is not."""
    assert calculate(f"10^{MAX_DIGITS - 1}") == "1" + "0" * (MAX_DIGITS - 1)
    assert calculate(f"10^{MAX_DIGITS}") is None
    assert calculate("9" * MAX_DIGITS + " + 0") == "9" * MAX_DIGITS
    assert calculate("9" * MAX_DIGITS + " + 1") is None
    assert calculate("9" * (MAX_DIGITS + 1) + " - 1") is None


def test_the_strictest_interpreter_is_enough() -> None:
    """The longest numbers need no more digits than the least that Python can be told to allow."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert calculate("9" * MAX_DIGITS + " * 1") == "9" * MAX_DIGITS
        assert calculate(f"(10^{MAX_DIGITS - 1} + 1) / (10^{MAX_DIGITS - 1} + 3)") is None
        assert calculate(f"(10^{MAX_DIGITS - 1} + 1) / 2^{MAX_DIGITS}") is None
    finally:
        sys.set_int_max_str_digits(before)
