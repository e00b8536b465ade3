"""Forms: whatever is in one can be read, in real models as well; and only who is held to forms gets them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, ModelAgent, Sampling, Scripted, perform
from motet.backend import Card
from motet.backends.llama import Llama
from motet.ballot import read_choice, read_grade, read_items, read_plan, read_ranking, read_scores
from motet.compose.protocol import record
from motet.compose.symbolic_moe import read_keywords
from motet.errors import UsageError
from motet.form import (
    choice_form,
    either,
    fields_form,
    grade_form,
    keywords_form,
    plan_form,
    query_form,
    ranking_form,
    scores_form,
)
from motet.message import Message, Reply, hear
from motet.tables.query import read_query

SMOL = Llama("smollm2-135m", "smol", context=2048)
LABELS = ("A", "B", "C", "A2")
Part = Callable[[], str]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^]\\]|\\.)*\]|\w+|::=|[()|?]|\{\d+,\d+\}')

FORMS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "choice": (choice_form(LABELS), lambda text: read_choice(text, LABELS)),
    "reasoned choice": (choice_form(["clean", "revise"], reasoned=True), lambda t: read_choice(t, ["clean", "revise"])),
    "grade": (grade_form(10), lambda text: read_grade(text, 10)),
    "small grade": (grade_form(5), lambda text: read_grade(text, 5)),
    "large grade": (grade_form(20), lambda text: read_grade(text, 20)),
    "reasoned grade": (grade_form(10, reasoned=True), lambda text: read_grade(text, 10)),
    "ranking": (ranking_form(LABELS), lambda text: read_ranking(text, LABELS)),
    "ranking of one": (ranking_form(["A"]), lambda text: read_ranking(text, ["A"])),
    "scores": (scores_form(LABELS, 10), lambda text: len(read_scores(text, LABELS, 10)[1]) == len(LABELS)),
    "keywords": (keywords_form(["graph theory", 'the "law"'], 2), read_keywords),
    "plan": (plan_form(LABELS, 6), lambda text: read_plan(text, LABELS)),
    "roles": (plan_form(None, 3), lambda text: read_items(text, 3)),
    "record": (fields_form(["Action", "State", "Answer"]), record),
    "reasoned record": (fields_form(["Answer"], reasoned=True), lambda text: record(text, "result")),
    "query": (query_form(["town", "price (EUR)", "rain"]), read_query),
    "either": (
        either(choice_form(["whole"]), plan_form(LABELS, 3)),
        lambda text: read_choice(text, ["whole"]) or read_plan(text, LABELS),
    ),
}


def found(read: object) -> bool:
    """Whether a reader found what it looks for; 0 is a grade."""
    return read is not None and read is not False and read != []


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
                    partial(str, re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], token[1:-1]))
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


@pytest.mark.parametrize("name", FORMS)
@given(seed=st.integers(0, 2**32))
def test_what_is_in_a_form_is_read(name: str, seed: int) -> None:
    """Whatever a form allows, the reader of it reads."""
    form, read = FORMS[name]
    text = Grammar(form, seed).rule("root")
    assert found(read(text)), text


@pytest.mark.real
@pytest.mark.parametrize("name", FORMS)
async def test_real_models_keep_to_a_form(name: str) -> None:
    """A small model that is held to a form says what can be read, and ends."""
    form, read = FORMS[name]
    agent = ModelAgent(SMOL, "smol", sampling=Sampling(temperature=0, max_tokens=1200), held=True)
    chat = Chat.of("Replies A, B and C say 4, 5 and 4. What do you think of them?")
    result = await perform(agent, chat.held(form))
    assert result.error is None
    assert found(read(result.text)), result.text


def held(said: str) -> tuple[ModelAgent, Scripted]:
    """An agent that is held to forms, and its model."""
    model = Scripted(said, name="m", card=Card(grammar=True))
    sampling = Sampling(temperature=0, stop=("\n",), format='{"type":"json_object"}')
    return ModelAgent(model, "judge", sampling=sampling, held=True), model


async def test_a_held_agent_gets_the_form_and_nothing_else_that_ends_or_shapes_its_reply() -> None:
    """The grammar takes the place of a format and of stop strings; without a form the agent's own sampling stands."""
    agent, model = held("Grade: 7")
    await perform(agent, Chat.of("Grade it.").held(grade_form(10)))
    await perform(agent, Chat.of("Say something."))
    first, second = (request.sampling for request in model.requests)
    assert (first.grammar, first.stop, first.format) == (grade_form(10), (), "")
    assert (second.grammar, second.stop, second.format) == ("", ("\n",), '{"type":"json_object"}')


async def test_who_is_not_held_may_give_reasons() -> None:
    """The form of a chat is no business of an agent that is not held."""
    model = Scripted("It is good. Grade: 7", name="m", card=Card(grammar=True))
    await perform(ModelAgent(model, "judge"), Chat.of("Grade it.").held(grade_form(10)))
    assert model.requests[0].sampling == Sampling()


def test_a_model_that_takes_no_grammar_holds_nobody() -> None:
    """Asking for what a model can't do is told when the agent is made, not when it is called."""
    with pytest.raises(UsageError, match="takes no grammar"):
        ModelAgent(Scripted("", name="m"), "judge", held=True)


def test_what_is_added_to_a_chat_ends_its_form() -> None:
    """A form is that of the next reply: nothing is left of it in a chat that goes on; system words leave it."""
    chat = Chat.of("Grade it.").held(grade_form(10))
    assert chat.form
    assert not chat.note("And now?").form
    assert not hear(chat, [Reply("5", id="r")]).form
    assert not chat.add(Message("user", "And now?")).form
    assert chat.under("You are strict.").form == chat.form
    assert chat.messages == Chat.of("Grade it.").messages
