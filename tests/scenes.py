"""Random scenes: compositions of asks with purses, hedges, grace and nesting, and the members who play them."""

from __future__ import annotations

import random
from typing import Any

from acting import Doing, agent, down

from motet import Budget, Chat, ModelAgent, Reply, Run
from motet.backend import estimate_tokens
from motet.errors import TooFewReplies
from motet.message import Request, Usage
from motet.run import Agent

SAID: dict[str, object] = {
    "ok": "yes",
    "long": "word " * 200,
    "empty": " ",
    "mute": Reply("", finish="abstain"),
    "cut": Reply("half", finish="length"),
    "dead": "server",
    "refused": "context_length",
    "odd": Reply("five words are said here", usage=Usage(1, -3, output=10**8)),
}
TIMES = (0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 30.0)


def purse(rng: random.Random) -> dict[str, Any]:
    """Limits for a purse: none, one, or several."""
    limits = {
        "calls": rng.randint(0, 6),
        "tokens": rng.choice([0, 30, 200, 900]),
        "usd": rng.choice([0.0, 1e-4, 0.01]),
        "seconds": rng.choice([0.0, 0.5, 1.0, 1.2, 3.0]),
    }
    return {name: limit for name, limit in limits.items() if rng.random() < 0.2}


def ask(rng: random.Random, depth: int) -> dict[str, Any]:
    """How one ask is made: of whom, hedged by whom, with which purse, of what is nested."""
    how: dict[str, Any] = {"who": rng.randrange(4), "other": rng.random() < 0.2}
    if rng.random() < 0.3:
        how |= {"hedge": rng.randrange(4), "after": rng.choice(TIMES)}
    if rng.random() < 0.3:
        how["budget"] = purse(rng)
    if rng.random() < 0.3 and depth:
        how["inner"] = steps(rng, depth - 1)
    return how


def steps(rng: random.Random, depth: int = 2) -> list[dict[str, Any]]:
    """What a composition does: groups of asks, with quorum and grace, some of their replies offered."""
    return [
        {
            "asks": [ask(rng, depth) for _ in range(rng.randint(1, 4))],
            "need": rng.randint(0, 3),
            "grace": rng.choice(TIMES) if rng.random() < 0.4 else None,
            "offer": rng.random() < 0.4,
            "parts": rng.random() < 0.15,
        }
        for _ in range(rng.randint(1, 3))
    ]


def kinds(rng: random.Random) -> list[tuple[str, float, int]]:
    """What four agents are like: what they say, how long they take, and which model they share."""
    return [(rng.choice(["ok", *SAID]), rng.choice(TIMES), rng.randint(0, 2)) for _ in range(4)]


def members(kinds: list[tuple[str, float, int]]) -> list[ModelAgent]:
    """Agents that behave as their kinds say; those of one model share their calls."""
    made = []
    for place, (kind, delay, _) in enumerate(kinds):
        said = SAID[kind]

        def script(request: Request, said: object = said, kind: str = kind) -> Any:
            if kind in ("dead", "refused"):
                return down(str(said))
            words = said.text if isinstance(said, Reply) else str(said)
            return said if estimate_tokens(words) <= request.max_tokens else Reply("", finish="length")

        made.append(agent(f"a{place}", said=script, delay=delay))
    twins = {}
    for place, (_, _, model) in enumerate(kinds):
        first = twins.setdefault(model, made[place]) if model else made[place]
        made[place] = ModelAgent(first.backend, f"a{place}")
    return made


def scene(steps: list[dict[str, Any]], cast: list[ModelAgent], name: str = "scene") -> Agent:
    """A composition that does the steps; it gives the last reply it had."""

    async def do(chat: Chat, run: Run) -> Reply:
        last: Reply | None = None
        for step in steps:

            async def ask_all(run: Run, step: dict[str, Any] = step) -> list[Reply]:
                asks = []
                for place, how in enumerate(step["asks"]):
                    who: Agent = cast[how["who"]]
                    if "inner" in how:
                        who = scene(how["inner"], cast, f"{name}/{place}")
                    options = {}
                    if "budget" in how:
                        options["budget"] = Budget(**how["budget"])
                    if "hedge" in how:
                        options |= {"hedge": cast[how["hedge"]], "after": how["after"]}
                    asks.append(run.ask(who, chat.note("again") if how["other"] else chat, **options))
                return await run.all(asks, need=step["need"], grace=step["grace"])

            if step["parts"]:
                found = await run.parts([ask_all, ask_all])
                replies = [reply for part in found for reply in part]
            else:
                replies = await ask_all(run)
            for reply in replies:
                last = reply
                if step["offer"]:
                    run.offer(reply)
        if last is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        return last

    return Doing(do, name)
