"""Forms: whatever is in one can be read, in real models as well; and only who is held to forms gets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
from drawing import Grammar
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, MixtureOfAgents, ModelAgent, Sampling, Scripted, Synthesize, perform
from motet.backend import Card
from motet.backends.llama import Llama
from motet.ballot import read_choice, read_grade, read_items, read_lines, read_plan, read_ranking, read_scores
from motet.compose.protocol import record
from motet.compose.symbolic_moe import read_keywords
from motet.errors import UsageError
from motet.form import (
    ANY,
    choice_form,
    either,
    fields_form,
    grade_form,
    keywords_form,
    lines_form,
    number,
    one_of,
    plan_form,
    query_form,
    ranking_form,
    scores_form,
)
from motet.message import Message, Reply, hear
from motet.tables.query import read_query, readable
from motet.tool import tool

SMOL = Llama("smollm2-135m", "smol", context=2048)
LABELS = ("A", "B", "C", "A2")

FORMS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "choice": (choice_form(LABELS), lambda text: read_choice(text, LABELS)),
    "reasoned choice": (choice_form(["clean", "revise"], reasoned=True), lambda t: read_choice(t, ["clean", "revise"])),
    "grade": (grade_form(10), lambda text: read_grade(text, 10)),
    "small grade": (grade_form(5), lambda text: read_grade(text, 5)),
    "large grade": (grade_form(20), lambda text: read_grade(text, 20)),
    "grade of hundreds": (grade_form(250), lambda text: read_grade(text, 250)),
    "reasoned grade": (grade_form(10, reasoned=True), lambda text: read_grade(text, 10)),
    "ranking": (ranking_form(LABELS), lambda text: read_ranking(text, LABELS)),
    "ranking of one": (ranking_form(["A"]), lambda text: read_ranking(text, ["A"])),
    "scores": (scores_form(LABELS, 10), lambda text: len(read_scores(text, LABELS, 10)[1]) == len(LABELS)),
    "keywords": (keywords_form(["graph theory", 'the "law"'], 2), read_keywords),
    "plan": (plan_form(LABELS, 6), lambda text: read_plan(text, LABELS)),
    "roles": (plan_form(None, 3), lambda text: read_items(text, 3)),
    "record": (fields_form(dict.fromkeys(["Action", "State", "Answer"], ANY)), record),
    "reasoned record": (fields_form({"Answer": ANY}, reasoned=True), lambda text: record(text, "result")),
    "grade and search": (
        fields_form({"Grade": number(10), "Search": ANY}, reasoned=True),
        lambda text: read_grade(text, 10) is not None and read_lines(text, "search"),
    ),
    "evidence": (
        fields_form({"Evidence": one_of(["doc1", "none"]), "Verdict": one_of(["MET", "OPEN"])}, reasoned=True),
        lambda text: read_choice(text, ["MET", "OPEN"]) and read_lines(text, "evidence"),
    ),
    "constraints": (lines_form("Constraint", 5), lambda text: read_lines(text, "constraint")),
    "query": (query_form(["town", "price (EUR)", "rain"]), read_query),
    "query of odd columns": (query_form(readable(["a > b", "a) b", "sales and costs", "*", "t" * 80])), read_query),
    "either": (
        either(choice_form(["whole"]), plan_form(LABELS, 3)),
        lambda text: read_choice(text, ["whole"]) or read_plan(text, LABELS),
    ),
}


def found(read: object) -> bool:
    """Whether a reader found what it looks for; 0 is a grade."""
    return read is not None and read is not False and read != []


@pytest.mark.parametrize("name", FORMS)
@given(seed=st.integers(0, 2**32))
def test_what_is_in_a_form_is_read(name: str, seed: int) -> None:
    """Whatever a form allows, the reader of it reads."""
    form, read = FORMS[name]
    text = Grammar(form, seed).rule("root")
    assert found(read(text)), text


ODD = [
    'say "no"',
    "a\\",
    "\\n",
    "a\nb",
    "a\rb",
    "a\0b",
    "a\u2028b",
    "a\x85b",
    "\ud800",
    "[a]{1,2}|(b)?",
    "😀 é",
    "# ::= root",
]


@pytest.mark.parametrize("label", ODD)
def test_whatever_a_label_has_in_it_is_quoted(label: str) -> None:
    """A grammar has a rule a line and nothing unprintable in it, and allows the label as it is."""
    for form in (choice_form([label]), either(choice_form([label], label), query_form([label]))):
        rules = form.split("\n")
        assert all(" ::= " in rule and rule.isprintable() for rule in rules), form
        assert len(rules) == len(form.splitlines())
    assert Grammar(choice_form([label], "Say"), 0).rule("root") == f"Say: {label}"
    assert Grammar(choice_form(["A"], label), 0).rule("root") == f"{label}: A"


@pytest.mark.parametrize("scale", [0, 1, 9, 10, 11, 99, 100, 109, 110, 250, 1000, 9999])
def test_a_grade_may_be_as_large_as_the_scale(scale: int) -> None:
    """And no larger, however large that is: a judge that could say 99 of 100 at most would grade too low."""
    pattern = re.sub(r"[ \"]", "", grade_form(scale).removeprefix('root ::= "Grade: "'))
    allowed = [number for number in range(11_000) if re.fullmatch(pattern, str(number))]
    assert allowed == list(range(scale + 1))


def test_what_a_column_is_compared_with_is_something() -> None:
    """Marks alone are no value: the reader leaves them out."""
    form = query_form(["price"])
    texts = [Grammar(form, seed).rule("root") for seed in range(1000)]
    assert [text for text in texts if read_query(text) is None] == []


def test_forms_are_joined_if_they_can_be() -> None:
    """A form of any words makes any words of all; two rules of one name would be mixed up."""
    assert either(choice_form(["A"]), keywords_form([], 2)) == query_form([]) == ""
    with pytest.raises(ValueError, match="same name"):
        either(query_form(["a"]), query_form(["b"]))


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


async def test_who_is_held_calls_no_tools() -> None:
    """There is no place for a call in a form, and llama.cpp takes no request with both; without a form it may."""

    def clock() -> str:
        """The time."""
        return "noon"

    model = Scripted("Grade: 7", name="m", card=Card(grammar=True, tools=True))
    agent = ModelAgent(model, "judge", tools=[tool(clock)], held=True)
    await perform(agent, Chat.of("Grade it.").held(grade_form(10)), tools=[tool(clock, name="theirs").spec])
    await perform(agent, Chat.of("Say something."))
    assert [[spec.name for spec in request.tools] for request in model.requests] == [[], ["clock"]]


async def test_a_synthesis_has_the_form_that_was_asked_for() -> None:
    """A mixture as a judge: its last reply is the verdict."""
    (a, _), (b, _), (last, model) = (_held(name) for name in "abc")
    chat = Chat.of("Grade it.")
    await perform(MixtureOfAgents([a, b], Synthesize(last), layers=1), chat.held(grade_form(10)))
    await perform(MixtureOfAgents([a, b], Synthesize(last), layers=1), chat)
    assert [request.sampling.grammar for request in model.requests] == [grade_form(10), ""]


def _held(name: str) -> tuple[ModelAgent, Scripted]:
    model = Scripted("Grade: 7", name=name, card=Card(grammar=True))
    return ModelAgent(model, name, held=True), model


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
