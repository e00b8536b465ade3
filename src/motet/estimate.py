"""Estimates: what a question would cost, before it is asked.

A composition's shape is never declared a second time: it is performed, with every call answered at once by a
placeholder of which no two are alike, in virtual time, one second a call. So nothing agrees, no score is good enough,
no verdict is that it is done, every list has as many lines as are allowed, each step of a plan waits for those before
it, and every loop runs to its bound: the estimate is the most that can be while nobody fails, abstains or refuses, for
replies of the length assumed. Where a list was asked for it is performed once more, with lists only where members are
cast, none where work is planned or people are described, since what is done instead can take more; of each number, the
larger counts. So with searches: once all documents are looked for with every word of the prompt, and all that is found
is admitted, once nothing is. Of a few documents a court may find one after the other, and take some calls more.
Where a reply may pass several reviews, or a query be tried again, what comes late costs most: so it is performed with
one review more that is passed, one query more that fails, as long as that takes more calls.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from motet.backend import Backend, deltas, prompt_tokens
from motet.backends.wrapper import Wrapper
from motet.budget import Budget
from motet.clock import run_virtual_apart
from motet.errors import UsageError
from motet.message import Chat, Delta, Message, Reply, Request, Usage
from motet.perform import perform
from motet.run import Agent
from motet.trace import CallStarted

REPLY_TOKENS = 128
"""Length of a reply that later prompts are assumed to carry; motet's choice, a short paragraph."""


_VERDICT = re.compile(r'"(Verdict: (?!STOP|clean)\w+)"')
"""What a prompt offers to say that does not end its loop."""
_LIST = re.compile(
    r"numbered list and nothing else, of at most (?P<steps>\d{1,9}) steps[^\n]*(?P<cards>(?:\n[A-Z]\d*: [^\n]*)*)"
    r"|Constraint:\", (?P<constraints>\d{1,9}) at most"
    r"|say which (?P<people>\d{1,9}), each"
)
"""Where a prompt asks for a list: a plan, with the cards of whom its steps can be given to; conditions; people."""
_SEARCH = 'begins with "Search:"'
"""Where a prompt asks for words to look for in documents."""
_ADMIT = '"Scores: doc1='
"""Where a prompt asks which passages of documents are admitted."""
MOST_WORDS = 500
"""Words that a placeholder looks for: those of its own prompt, the last ones."""
_TURN = re.compile(r'"Verdict: clean"|begins with "(?P<query>Query):"')
"""What a prompt asks for that may be said sooner or later: that a reply may stand, a query that can be computed."""
PATIENCE = 9
"""How much later than at once a placeholder says it at most."""
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_ANYBODY = '"?" for the letter'
"""What a prompt says where a step may be given to nobody, so that somebody is looked for."""
LONGEST_LIST = 300
"""Lines of a placeholder's list at most: as many as are sure to be read (`motet.ballot.LOOKED_AT`)."""
MOST_CALLS = 10_000
"""Calls after which an estimate gives up: what makes more on one question is a mistake, or wants a budget first."""


class Estimate(msgspec.Struct, frozen=True):
    """The most that one question can take.

    Args:
        calls: calls to backends, retries not counted.
        depth: calls in series: the length of the longest chain of calls that wait for each other.
        input: prompt tokens, members' texts counted at the assumed length; what is rejected to the end is passed on to
            nobody, and is in no prompt.
        output: completion tokens, every reply as long as its agent may make it.
        usd: US dollars at the known prices, the steps of a plan given to all in turn.
        unpriced: models whose price is not known, and that are counted as 0.
        listening: calls with others' words in their prompt.
        offices: agents that are asked something about the question (to judge, to rank, to choose), never itself.
    """

    calls: int
    depth: int
    input: int
    output: int
    usd: float
    unpriced: tuple[str, ...] = ()
    listening: int = 0
    offices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placeholder(Wrapper):
    """A stand-in for a backend: one virtual second, a text like no other, the longest output for the price."""

    reply_tokens: int
    planning: bool = field(default=True, kw_only=True)
    patience: Sequence[int] = field(default=(0,), kw_only=True)
    turns: dict[str, tuple[int, int]] = field(default_factory=dict, kw_only=True)

    async def complete(self, request: Request) -> Reply:
        """Words that mean nothing, with the usage of the longest reply."""
        await asyncio.sleep(1.0)
        offered = _VERDICT.search(request.text)
        verdict = self._turned(request.text, offered.group(1) if offered else "")
        text = f"{verdict}\nplaceholder {request.key[:8].translate(_LETTERS)}".lstrip()  # no number that is looked for
        words = max(0, min(request.max_tokens, self.reply_tokens) - 8) if self.card.reports_usage else 0
        asked = [found for found in _LIST.finditer(request.text) if self.planning or found["cards"]][-1:]
        if self.planning and _SEARCH in request.text:
            words_of_it = dict.fromkeys(re.findall(r"\w+", request.text)[-MOST_WORDS:])
            text = f"Search: {' '.join(words_of_it)}\n{text}"
        if self.planning and _ADMIT in request.text:
            named = re.findall(r'<reply id="(doc\d+)">', request.text)
            text = f"Scores: {', '.join(f'{name}=10' for name in named)}\n{text}"
        for found in asked:  # the last one: those before it were asked of others, who are quoted
            lines, spread = _listed(found, request, words)
            text, words = f"{lines}\n\n{text}", words - spread
        if not self.card.reports_usage:
            return Reply(text)
        text += " " + "word " * words
        return Reply(text, usage=Usage(1, prompt_tokens(self.backend, request), output=request.max_tokens))

    def _turned(self, asked: str, verdict: str) -> str:
        """What is said of the same words again and again: all is well, and no query works, until patience ends.

        `patience` is for words in the order in which they first came up, its last number for all after them; `turns`
        has their place in it, and how often something was said of them.
        """
        turn = _TURN.search(asked)
        if turn is None:
            return verdict
        about = f"{turn['query']} {re.findall(r'placeholder ([a-p]{8})', asked)[-1:]}"
        place, count = self.turns.get(about, (len(self.turns), 0))
        self.turns[about] = (place, count + 1)
        later = count >= self.patience[min(place, len(self.patience) - 1)]
        if turn["query"]:
            return "Query: count(*)" if later else ""
        return verdict if later else "Verdict: clean"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def _listed(asked: re.Match[str], request: Request, words: int) -> tuple[str, int]:
    """A list as long as it may be, and how many of a reply's words are in it.

    Each step of a plan comes after all before it: the most in series, and the most that is passed on.
    """
    steps = asked["steps"]
    count = min(int(steps or asked["constraints"] or asked["people"]), LONGEST_LIST)
    letters = re.findall(r"(?m)^[A-Z]\d*(?=: )", asked["cards"] or "")
    letters = ["?"] if letters and _ANYBODY in request.text else letters
    share = min(words, 5 * LONGEST_LIST) // max(1, count)
    lines = []
    for number in range(1, count + 1):
        head = (
            f"{letters[(number - 1) % len(letters)]}: " if letters else "Constraint: " if asked["constraints"] else ""
        )
        after = f"(after {number - 1}{f', 1-{number - 2}' if number > 2 else ''})" if steps and number > 1 else ""
        lines.append(f"{number}. {head}{request.key[:8]} {number} {'word ' * share}{after}".rstrip())
    return "\n".join(lines), share * count


def estimate(agent: Agent, question: str | Chat | Iterable[Message], *, reply_tokens: int = REPLY_TOKENS) -> Estimate:
    """The most that putting `question` to `agent` can take. Calls nothing; may be called from anywhere.

    Args:
        agent: a single agent or a composition.
        question: what would be asked.
        reply_tokens: the length assumed for replies that later prompts carry.

    Raises:
        UsageError: it makes more than `MOST_CALLS` calls.
        MotetError: the agent can't be performed at all, and why.

    >>> from motet import ModelAgent, Scripted, Synthesize, MixtureOfAgents
    >>> a, b = ModelAgent(Scripted("", name="a"), "a"), ModelAgent(Scripted("", name="b"), "b")
    >>> found = estimate(MixtureOfAgents([a, b], Synthesize(a), layers=2), "Why is the sky blue?")
    >>> found.calls, found.depth
    (5, 3)
    """
    unpriced: set[str] = set()
    asked = Chat.of(question).question

    async def performed(*, planning: bool = True, patience: Sequence[int] = (0,)) -> tuple[Estimate, bool, list[int]]:
        turns: dict[str, tuple[int, int]] = {}

        def stand_in(backend: Backend) -> Backend:
            if backend.card.price is None:
                unpriced.add(backend.name)
            return Placeholder(backend, reply_tokens, planning=planning, patience=patience, turns=turns)

        result = await perform(agent, question, budget=Budget(calls=MOST_CALLS, usd=math.inf), wrap=stand_in)
        if result.stopped:
            raise UsageError(
                f"{agent.name} makes more than {MOST_CALLS:,} calls on one question: are its numbers meant so?"
            )
        if result.error is not None:
            raise result.error
        used, calls = result.usage, [event for event in result.trace if isinstance(event, CallStarted)]
        listening = sum(bool(event.heard) for event in calls)
        answering = {event.agent for event in calls if event.request.question == asked}
        offices = tuple(sorted({event.agent for event in calls} - answering))
        names = tuple(sorted(unpriced))
        found = Estimate(
            used.calls, round(result.seconds), used.input, used.output, used.usd, names, listening, offices
        )
        texts = [event.request.text for event in calls]
        listed = any(_SEARCH in text or _LIST.search(text) for text in texts)
        return found, listed, [count for _, count in turns.values()]

    async def work() -> Estimate:
        found, listed, turns = await performed()
        before, late = found.calls, 0
        if listed:
            found = _most(found, (await performed(planning=False))[0])
        while turns and late < PATIENCE:
            later, _, counts = await performed(patience=[late + 1])
            if later.calls <= before:
                break
            before, late, turns, found = later.calls, late + 1, counts, _most(found, later)
        if late:  # what comes up less often is not waited for in vain
            found = _most(found, (await performed(patience=[min(late, count - 1) for count in turns]))[0])
        return found

    return run_virtual_apart(work)


def _most(one: Estimate, other: Estimate) -> Estimate:
    """The larger of each number, and the names of both."""
    found = {}
    for name in Estimate.__struct_fields__:
        here, there = getattr(one, name), getattr(other, name)
        found[name] = tuple(sorted({*here, *there})) if isinstance(here, tuple) else max(here, there)
    return msgspec.structs.replace(one, **found)
