r"""Public agent: what a question asks of tables: intent, discovery, analysis, report, with a check between the stages.

Montazeri, Feng and Sha, "PublicAgent: Multi-Agent Design Principles From an LLM-Based Open Data Analysis Framework",
arXiv 2511.03023; read: its abstract and summaries of it; there is no public code. A question is put to open data by
four agents, each with a context of its own: *intent* makes it exact, *discovery* finds the data set, *analysis*
computes, *report* answers; what each gives is checked before the next begins. Without discovery or analysis it fails
outright, without intent or report it gets worse, whatever the model.

Inferred: the checks, and how the analysis computes. Theirs writes programs; here it writes one line of a small language
(`Query: mean(price) where city = Paris and year >= 2020`), which `motet.tables.query` computes on the table, so that no
model's arithmetic is trusted and nothing that a model or a table says is ever run. The checks need no agent: an intent
is short; a choice names one table; a query can be read and its columns exist, or the analysis is told what is wrong and
tries again; what was computed stands in the report, or the report is written again, and if it is still not there, the
computed line itself is the answer. Whatever was given up is noted. Left out: their intent is made exact together with
the user, who confirms it, and their discovery searches a portal by meaning.

Tables are data, never instructions: they are shown as names, columns and a few rows, every cell cut short and disarmed.
A table that is missing, empty, damaged or binary is left out and noted; of a huge one the first 100,000 rows count, and
the computed line says so, as it does how many cells were no numbers. A table is a path (CSV, TSV, JSON lines, a JSON
list, Parquet, gzipped or not), or CSV as text, which is told by its line break. Without any table that can be read the
agent answers by itself, and that is noted.

Shape: 4 calls in series (3 with one table) and `attempts` - 1 more each for the analysis and the report, at most; 1
without tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.form import choice_form, query_form
from motet.message import Chat, Message, Reply, hear
from motet.prompt import disarmed, next_labels
from motet.run import Agent, Run
from motet.tables.query import CELL, NUMBER, Computed, Rows, computed, number, read_query, read_table, readable

SHOWN, COLUMNS = 3, 40
"""Rows and columns that an agent is shown."""
LONGEST = 2_000
"""Characters of an intent."""
INTENT = (
    "Don't answer the above yet; it is going to be looked up in tables. Say in one sentence exactly what it asks for: "
    "which quantity, of what, under which conditions, and over what time."
)
DISCOVER = (
    "Which of these tables is needed to answer the above?\n{tables}\n"
    'End with one line that begins with "Choice:" and has one letter.'
)
ANALYSE = (
    "The above is to be computed from this table:\n{table}\nWrite the one query that gives it. It is an operation "
    "(count, sum, mean, min, max or list) of a column, and conditions if there are any, for instance\n"
    "Query: mean(price) where city = Paris and year >= 2020\n"
    'End with one line that begins with "Query:" and has nothing else.'
)
MEANT = "Below is what it asks for, as somebody understood it."
REPORT = (
    "From a table that was looked up for this, the following was computed: {result}\n"
    "Answer in a sentence or two with it."
)
AGAIN = "\nLast time there was a problem with that: {problem}. Mend it."


@dataclass(frozen=True)
class PublicAgent:
    r"""An answer that was looked up and computed in tables.

    Args:
        agent: who does what nobody else is named for, the analysis always.
        tables: by their names, a path each, or CSV as text.
        intent: who makes the question exact.
        discovery: who chooses the table.
        report: who writes the answer.
        attempts: how often the analysis and the report may try.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = ["The mean price in Paris.", "Query: mean(price) where city = Paris", "It is 4 on average."]
    >>> clerk = ModelAgent(Scripted(said), "clerk")
    >>> flats = {"flats": "city,price\nParis,3\nParis,5\nLyon,2"}
    >>> asyncio.run(perform(PublicAgent(clerk, flats), "What does a flat in Paris cost?")).text
    'It is 4 on average.'
    """

    also_known_as: ClassVar = ("PublicAgent", "open data analysis")

    agent: Agent
    tables: Mapping[str, str] = field(default_factory=dict)
    intent: Agent | None = None
    discovery: Agent | None = None
    report: Agent | None = None
    attempts: int = 2
    name: str = "public-agent"

    def __post_init__(self) -> None:
        at_least(1, "attempts", self.attempts, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        tables = self._read(run)
        if not tables:
            run.note("there is no table that could be read: the answer is the agent's own")
            return (await run.all([run.answer(self.agent, chat)]))[0]
        meant = await self._meant(chat, run)
        analysed = await self._analysed(meant, tables[await self._discovered(meant, tables, run)], run)
        if analysed is None:
            run.note("no query could be computed: the answer is the agent's own")
            return (await run.all([run.answer(self.agent, meant)]))[0]
        found, query = analysed
        itself = run.offer(Reply(found.line, sources=(query.id,)))
        asked = told = meant.note(REPORT.replace("{result}", disarmed(found.line)))
        for _ in range(self.attempts):
            for reply in await run.all([run.ask(self.report or self.agent, asked)], need=0):
                if _reports(reply.text, found.values):
                    return reply
            asked = told.note(AGAIN.replace("{problem}", "what was computed is not in it"))
        run.note("no report had what was computed in it; that itself is given instead")
        return itself

    def _read(self, run: Run) -> dict[str, Rows]:
        """The tables that can be read."""
        found = {}
        for name, given in self.tables.items():
            try:
                found[name] = read_table(given)
            except (UsageError, OSError, ValueError) as error:
                run.note(f"the table {name!r} is left out: {error}")
        return found

    async def _meant(self, chat: Chat, run: Run) -> Chat:
        """The question with what it asks for exactly."""
        asked = chat.add(Message("user", INTENT))  # the question is now what is asked
        for said in await run.all([run.ask(self.intent or self.agent, asked)], need=0):
            if len(said.text) <= LONGEST:
                return hear(chat, [said], MEANT)
        run.note("nobody made the question exact: it is taken as it is")
        return chat

    async def _discovered(self, meant: Chat, tables: Mapping[str, Rows], run: Run) -> str:
        """The name of the table that is needed: the one chosen, else the one with most words of the question."""
        if len(tables) > 1:
            letters = dict(zip(next_labels(meant, len(tables)), tables, strict=True))
            listed = "\n\n".join(f"{letter}: {_card(name, tables[name])}" for letter, name in letters.items())
            asked = meant.add(Message("user", DISCOVER.replace("{tables}", listed)))  # the question is now which table
            asked = asked.held(choice_form([*letters], "Choice"))
            for said in await run.all([run.ask(self.discovery or self.agent, asked)], need=0):
                if chosen := read_choice(said.text, list(letters)):
                    return letters[chosen]
            run.note("nobody chose a table: the one that has most words of the question is taken")
        words = set(re.findall(r"\w+", meant.question.lower()))
        return max(tables, key=lambda name: len(words & set(re.findall(r"\w+", _card(name, tables[name]).lower()))))

    async def _analysed(self, meant: Chat, table: Rows, run: Run) -> tuple[Computed, Reply] | None:
        """What the analysis computes, and the reply with the query; None if none can be computed."""
        problem = ""
        for _ in range(self.attempts):
            words = ANALYSE.replace("{table}", _card("", table)) + problem
            asked = meant.add(Message("user", words)).held(query_form(readable(table.columns[:COLUMNS])))
            for said in await run.all([run.ask(self.agent, asked)], need=0):
                query = read_query(said.text)
                try:
                    if query:
                        return computed(query, table), said
                    problem = AGAIN.replace("{problem}", "it could not be read")
                except UsageError as error:
                    problem = AGAIN.replace("{problem}", disarmed(str(error)))
        return None


def _card(name: str, table: Rows) -> str:
    """A table as agents are shown it: a few rows, every cell short and disarmed."""
    lines = [" | ".join(" ".join(cell.split())[:CELL] for cell in row[:COLUMNS]) for row in table.rows[:SHOWN]]
    columns = " | ".join(table.columns[:COLUMNS])
    return disarmed("\n".join([f"{name[:CELL]} ({len(table.rows)} rows)", columns, *lines]).strip())


def _reports(text: str, values: Sequence[str]) -> bool:
    """Whether a report has one of the values in it: a number to three digits, other words whole and as they are."""
    said = [known for found in NUMBER.findall(text) if (known := number(found)) is not None]
    wanted = [known for value in values if (known := number(value)) is not None]
    if any(math.isclose(x, y, rel_tol=5e-3) for x in said for y in wanted):
        return True
    words = [value.casefold() for value in values if number(value) is None]
    forms = [re.escape(word.removesuffix("…")) + ("" if word.endswith("…") else r"(?!\w)") for word in words]
    return not values or any(re.search(rf"(?<!\w){form}", text.casefold()) for form in forms)
