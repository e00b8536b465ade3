"""Methods whose answers are not right or wrong, on real local models: what a group thinks of, and what a table says.

    python benchmarks/open_ended.py --out benchmarks/results/open-ended.json

**Ideation.** Four draws of SmolLM2 135M have ideas on the same prompts, apart (a nominal group), hearing one other or
all others, under a leader, and with seniors among them. Per group: how unlike the ideas are (words, and meaning by the
`embed` extra's vectors), what is left of that against the nominal group, and what so small a model can be held to: an
idea is there, ends, is no copy of what was asked, and is one's own.

**Public agent.** Questions about two tables that were made from a seed, with answers that are known. Per stage: whether
a query could be read, is of the right table, could be computed, gives the right figure, and whether that stands in the
answer; the same questions to the agent alone, who is shown the tables.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import report

from motet import ModelAgent, Sampling, perform
from motet.backends.llama import Llama
from motet.compose.ideation import Ideation
from motet.compose.public_agent import PublicAgent
from motet.embed import embed
from motet.errors import UsageError
from motet.measure.contraction import contraction_ratio
from motet.measure.diversity import lexical_diversity, semantic_diversity
from motet.measure.wilson import wilson
from motet.outcome import Result
from motet.run import Agent
from motet.tables.query import NUMBER, computed, number, read_query, read_table
from motet.trace import AskEnded, Noted

PROMPTS = [
    f"Suggest, in one sentence, {what}."
    for what in (
        "a new use for an old bicycle tyre",
        "a way to make a small town's library more visited",
        "a game that two children can play with a rope",
        "how a bakery could waste less bread",
        "a name for a ship that studies whales, and why",
        "a dish made of rice and apples",
        "how neighbours could share their tools",
        "a way to keep a garden green in a dry summer",
        "how to make a bus ride to school more fun",
        "a way to teach fractions with things from a kitchen",
    )
]
GROUPS: dict[str, dict[str, Any]] = {
    "apart (density 0)": {"density": 0.0},
    "one other (density 1/3)": {"density": 1 / 3},
    "all others (density 1)": {"density": 1.0},
    "all others, and a leader": {"density": 1.0, "leader": True},
    "all others, half of them seniors": {"density": 1.0, "seniority": "mixed"},
}
SIZE = 4


async def performed(agent: Agent, questions: Sequence[str], seed: int, at_once: int) -> list[Result]:
    """The results of questions, some at a time."""
    gate = asyncio.Semaphore(at_once)

    async def one(place: int, question: str) -> Result:
        async with gate:
            return await perform(agent, question, seed=seed + place)

    return await asyncio.gather(*(one(place, question) for place, question in enumerate(questions)))


# ---- ideation


async def ideation(seed: int, at_once: int) -> list[dict[str, Any]]:
    """A row a group: diversity, contraction, and the checks."""
    smol = Llama("smollm2-135m", "smol", context=2048)
    member = ModelAgent(smol, "member", sampling=Sampling(temperature=0.9, max_tokens=60), held=True)
    leader = ModelAgent(smol, "leader", sampling=Sampling(temperature=0.3, max_tokens=80), held=True)
    rows: list[dict[str, Any]] = []
    nominal: dict[str, list[float]] = {}
    for name, fields in GROUPS.items():
        given = {**fields, "leader": leader} if fields.get("leader") else fields
        group = Ideation([member], size=SIZE, **given)
        results = await performed(group, PROMPTS, seed, at_once)
        ideas = [group.ideas(result) if result.reply else [] for result in results]
        several = [(prompt, each) for prompt, each in zip(PROMPTS, ideas, strict=True) if len(each) > 1]
        found = {
            "lexical": [lexical_diversity(each) for _, each in several],
            "semantic": [semantic_diversity(embed(each)) for _, each in several],
        }
        nominal = nominal or found
        all_ideas = [(prompt, idea) for prompt, each in zip(PROMPTS, ideas, strict=True) for idea in each]
        calls = [result.usage.calls for result in results]
        rows.append(
            {
                "group": name,
                "prompts": len(PROMPTS),
                "ideas": len(all_ideas),
                "of": SIZE * len(PROMPTS),
                **{f"{kind}_diversity": round(fmean(values), 3) for kind, values in found.items()},
                **{f"{kind}_left": left(values, nominal[kind]) for kind, values in found.items()},
                "own": share([each.count(idea) == 1 for each in ideas for idea in each]),
                "no_copy": share([idea.strip() not in ("", prompt) for prompt, idea in all_ideas]),
                "proposal": share([result.reply is not None for result in results]),
                "calls": round(fmean(calls), 1),
                "example": all_ideas[0][1] if all_ideas else "",
            }
        )
    return rows


def left(values: Sequence[float], nominal: Sequence[float]) -> list[float]:
    """What is left of the diversity of a nominal group, with its interval."""
    found = contraction_ratio(values, nominal, paired=len(values) == len(nominal))
    return [round(float(each), 3) for each in (found.value, *found.interval)]


def share(checks: Sequence[bool]) -> list[float]:
    """The share that pass, with Wilson's interval."""
    if not checks:
        return []
    return [round(float(each), 3) for each in (fmean(checks), *wilson(sum(checks), len(checks)))]


# ---- public agent


@dataclass(frozen=True)
class Asked:
    """A question, the table that it needs, and its answer as the query language writes it."""

    text: str
    table: str
    answer: str


def made(seed: int) -> tuple[dict[str, str], list[Asked]]:
    """Two tables, and questions about them."""
    rng = random.Random(seed)
    towns = [("Aldow", "north"), ("Brill", "north"), ("Corv", "south"), ("Dunmere", "south"), ("Esk", "west")]
    rain = ["town,region,year,rainfall"]
    rain += [
        f"{town},{region},{year},{rng.randrange(300, 1200)}" for town, region in towns for year in (2021, 2022, 2023)
    ]
    fares = ["line,stops,price"]
    fares += [f"{line},{rng.randrange(4, 30)},{rng.randrange(1, 9)}" for line in ("red", "blue", "green", "night")]
    tables = {"rainfall": "\n".join(rain), "buses": "\n".join(fares)}
    lines = ("red", "blue", "green", "night")
    kinds: list[tuple[str, str, str, Sequence[str]]] = [
        (
            "What was the mean rainfall in {0}?",
            "rainfall",
            "mean(rainfall) where town = {0}",
            [town for town, _ in towns],
        ),
        (
            "What was the highest rainfall in the {0}?",
            "rainfall",
            "max(rainfall) where region = {0}",
            ("north", "south"),
        ),
        ("What was the rainfall of all towns in {0}?", "rainfall", "sum(rainfall) where year = {0}", ("2021", "2022")),
        ("How much is a ticket for the {0} bus line?", "buses", "mean(price) where line = {0}", lines),
        ("How many stops has the {0} bus line?", "buses", "sum(stops) where line = {0}", lines),
        ("How many bus lines are there?", "buses", "count(line)", [""]),
    ]
    asked = []
    for text, table, query, values in kinds:
        for value in values:
            known = read_query(f"Query: {query.format(value)}")
            assert known is not None
            asked.append(Asked(text.format(value), table, computed(known, read_table(tables[table])).values[0]))
    return tables, asked


async def public_agent(seed: int, at_once: int) -> list[dict[str, Any]]:
    """A row an agent: how far it came, stage by stage."""
    tables, asked = made(seed)
    shown = "\n\n".join(f"{name}:\n{table}" for name, table in tables.items())
    rows = []
    for model in ("smollm2-135m", "gemma3-270m"):
        llama = Llama(model, model, context=2048)
        agent = ModelAgent(llama, model, sampling=Sampling(temperature=0, max_tokens=80), held=True)
        clerk = PublicAgent(agent, tables, attempts=2)
        results = await performed(clerk, [each.text for each in asked], seed, at_once)
        alone = await performed(agent, [f"{shown}\n\n{each.text}" for each in asked], seed, at_once)
        queries = [said(result) for result in results]
        both = list(zip(queries, asked, strict=True))
        rows.append(
            {
                "model": model,
                "questions": len(asked),
                "query_read": share([bool(each) for each in queries]),
                "table_right": share([bool(each) and of(each[-1], tables[one.table]) for each, one in both]),
                "query_right": share(
                    [bool(each) and gives(each[-1], tables[one.table], one.answer) for each, one in both]
                ),
                "computed": share(["no query could be computed" not in " ".join(notes(result)) for result in results]),
                "right": share([has(result, each.answer) for result, each in zip(results, asked, strict=True)]),
                "right_alone": share([has(result, each.answer) for result, each in zip(alone, asked, strict=True)]),
                "calls": round(fmean(result.usage.calls for result in results), 1),
                "example": {"question": asked[0].text, "query": (queries[0] or [""])[-1]},
            }
        )
    return rows


def said(result: Result) -> list[str]:
    """The queries of a run that could be read, as they were written."""
    replies = [event.reply for event in result.trace if isinstance(event, AskEnded)]
    return [reply.text for reply in replies if reply and read_query(reply.text)]


def of(query: str, table: str) -> bool:
    """Whether a query is of a column of this table."""
    known = read_query(query)
    return known is not None and known.column.lower() in map(str.lower, read_table(table).columns)


def gives(query: str, table: str, answer: str) -> bool:
    """Whether a query gives this figure on a table."""
    known = read_query(query)
    try:
        return known is not None and computed(known, read_table(table)).values == (answer,)
    except UsageError:
        return False


def notes(result: Result) -> list[str]:
    """What was noted on the way."""
    return [event.text for event in result.trace if isinstance(event, Noted)]


def has(result: Result, answer: str) -> bool:
    """Whether a figure stands in a reply, to three digits."""
    figures = [number(each) for each in NUMBER.findall(result.text)] if result.reply else []
    return any(each is not None and math.isclose(each, float(answer), rel_tol=5e-3) for each in figures)


def main() -> None:
    """Measure, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=4, help="questions under way at once")
    parser.add_argument("--out", type=Path, default=None)
    told = parser.parse_args()
    began = time.perf_counter()
    figures = {
        "benchmark": "what a group thinks of, and what a table says, on real local models",
        "seed": told.seed,
        "ideation": asyncio.run(ideation(told.seed, told.at_once)),
        "public_agent": asyncio.run(public_agent(told.seed, told.at_once)),
    }
    report.write(figures, told.out, began)


if __name__ == "__main__":
    main()
