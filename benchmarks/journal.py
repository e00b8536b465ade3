"""What the journal costs: time per call with and without it, records a second, bytes a record, and what packing saves.

    python benchmarks/journal.py --out benchmarks/results/journal.json    # about a minute
    python benchmarks/journal.py --only overhead                          # one part
    python benchmarks/journal.py --calls 100000                           # a larger file

JSON on stdout: for each part what was measured, and whether the target was met; the machine, the versions and the
command. Times are taken as they are, on whatever else the machine is doing: the load average stands beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from motet.agent import ModelAgent
from motet.backend import Backend, Card, deltas
from motet.backends.cached import Cached, Memory
from motet.backends.journaled import Journaled
from motet.bench.suite import load_suite
from motet.compose.vote import Vote
from motet.journal import Call, Journal
from motet.message import Delta, Message, Reply, Request, Sampling, Usage, encoded
from motet.perform import perform

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = (
    "You are a careful expert in many fields. Read the question twice. Think step by step, check every step, and say "
    "plainly when you are not sure. End with the final answer on a line of its own, with no unit and no full stop."
)
WORDS = [" ".join(text.split()) for text in (ROOT / "docs/explanation/real-models.md").read_text().split("\n\n")]
"""English paragraphs, in the place of what models say."""


def request(number: int) -> Request:
    """A chat of an ordinary length: 300 characters of system words and a question of 100."""
    asked = f"{QUESTIONS[number % len(QUESTIONS)]} ({number})"
    chat = (Message("system", SYSTEM), Message("user", f"{asked}\n\nGive only the answer."))
    return Request("model", chat, asked=asked, sampling=Sampling(0.7, max_tokens=256))


def reply(number: int) -> Reply:
    """A paragraph: 300 characters on average."""
    return Reply(
        WORDS[number % len(WORDS)], model="model-2026", usage=Usage(1, 120, output=90, usd=0.00012, seconds=1.5)
    )


QUESTIONS = [task.input for task in load_suite("general").tasks]


@dataclass(frozen=True)
class Instant:
    """A backend that answers at once."""

    name: str = "instant"
    card: Card = Card(local=True)

    async def complete(self, request: Request) -> Reply:
        """A short answer."""
        return Reply("391", usage=Usage(1, 20, output=1))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same."""
        async for delta in deltas(await self.complete(request)):
            yield delta

    def count(self, text: str) -> int:
        """A quarter of the letters."""
        return -(-len(text) // 4)


async def workers(count: int, work: Callable[[int], object], concurrency: int) -> None:
    """Work through the numbers below `count`, so many at once."""
    numbers = iter(range(count))

    async def one() -> None:
        for number in numbers:
            await work(number)  # type: ignore[misc]

    await asyncio.gather(*(one() for _ in range(concurrency)))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


# ---- records


def look(journal: Journal, keys: Sequence[str], code: str) -> None:
    """Look for replies."""
    for key in keys:
        journal.known(key, "model", code)


def records(calls: int, rounds: int) -> dict[str, object]:
    """Calls begun and finished by 256 at once: two records each, in a new file each round."""
    made = [(Call(request(number), "model", "1"), reply(number)) for number in range(calls)]
    keys = [call.request.key for call, _ in made]  # made once, as a run has done when it calls
    times = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:

            async def call(number: int, journal: Journal = journal) -> None:
                intent = await journal.begin(made[number][0])
                await journal.finish(intent, made[number][1])

            times.append(timed(lambda call=call: asyncio.run(workers(calls, call, 256))))
            looked = keys[:: max(1, calls // 2_000)]
            _, known = timed(partial(look, journal, looked, "1"))
            _, unknown = timed(partial(look, journal, looked, "2"))
            size = journal.stats().bytes
            _, vacuumed = journal.vacuum()
    rates = [2 * calls / wall for wall, _ in times]
    cpu = [seconds / calls / 2 * 1e6 for _, seconds in times]
    return {
        "calls": calls,
        "records": 2 * calls,
        "rounds": rounds,
        "concurrency": 256,
        "records_per_second": {"median": round(statistics.median(rates)), "best": round(max(rates))},
        "cpu_us_per_record": {"median": round(statistics.median(cpu), 1), "best": round(min(cpu), 1)},
        "known_cpu_us": round(known / len(looked) * 1e6, 1),
        "not_known_cpu_us": round(unknown / len(looked) * 1e6, 1),
        "bytes_per_call_as_json": round(statistics.mean(len(encoded(c.request)) + len(encoded(r)) for c, r in made)),
        "bytes_per_call": round(size / calls),
        "bytes_per_call_vacuumed": round(vacuumed / calls),
        "verdict": {"claim": "records a second, best", "at_least": 10_000, "met": max(rates) >= 10_000},
    }


# ---- latency


def latency(calls: int) -> dict[str, object]:
    """Calls one after the other: what a lone call waits for the journal, before and after it."""
    waits: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:

        async def work() -> None:
            for number in range(calls):
                call, said = Call(request(number), "model", "1"), reply(number)
                start = time.perf_counter()
                intent = await journal.begin(call)
                middle = time.perf_counter()
                await journal.finish(intent, said)
                waits.append((middle - start, time.perf_counter() - middle))

        asyncio.run(work())
    parts = {"begin": [one for one, _ in waits], "finish": [other for _, other in waits]}
    return {"calls": calls} | {
        name: {f"p{p}_us": round(statistics.quantiles(values, n=100)[p - 1] * 1e6) for p in (50, 95, 99)}
        for name, values in parts.items()
    }


# ---- overhead


def overhead(questions: int, rounds: int) -> dict[str, object]:
    """A vote of five agents on backends that answer at once, 64 questions at once, in turns.

    `without`: nothing kept. `memory`: a cache in memory, whose sharing of calls under way the journal has too.
    `first`: the journal, with nothing known; `again`: the same questions, with every reply known.
    """
    found: dict[str, list[tuple[float, float]]] = {"without": [], "memory": [], "first": [], "again": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
            memory = Memory(5 * questions)
            for name, times in found.items():
                agents = []
                for place in range(5):
                    backend: Backend = Instant(f"m{place}")
                    if name == "memory":
                        backend = Cached(backend, memory)
                    elif name != "without":
                        backend = Journaled(backend, journal, "1")
                    agents.append(ModelAgent(backend, f"member-{place}", system=f"You are member {place} of a panel."))

                async def ask(number: int, vote: Vote = Vote(agents)) -> None:  # noqa: B008
                    result = await perform(vote, f"What is 17 * 23? ({number})")
                    assert result.text == "391"

                times.append(timed(lambda ask=ask: asyncio.run(workers(questions, ask, 64))))
            assert journal.stats().calls == 5 * questions
    report: dict[str, object] = {"questions": questions, "calls": 5 * questions, "rounds": rounds, "concurrency": 64}
    for name, times in found.items():
        cpu = [seconds / questions / 5 * 1e6 for _, seconds in times]
        report[name] = {
            "questions_per_second": round(questions / statistics.median(wall for wall, _ in times)),
            "cpu_us_per_call": {"median": round(statistics.median(cpu)), "best": round(min(cpu))},
        }
    return report


# ---- packing


def packing() -> dict[str, object]:
    """Bytes and time of packing requests and replies: zlib at its fastest, alone or with a dictionary of samples."""
    kinds = {
        "requests": [encoded(request(number)) for number in range(1_000)],
        "replies": [encoded(reply(number)) for number in range(len(WORDS))],
    }
    found: dict[str, object] = {}
    for name, several in kinds.items():
        sample, rest = several[: len(several) // 10], several[len(several) // 10 :]
        dictionary = b"".join(sample)[-4096:]

        def primed(content: bytes, dictionary: bytes = dictionary) -> bytes:
            packer = zlib.compressobj(1, zdict=dictionary)
            return packer.compress(content) + packer.flush()

        ways: dict[str, Callable[[bytes], bytes]] = {
            "as JSON": bytes,
            "zlib 1": lambda content: zlib.compress(content, 1),
            "zlib 6": lambda content: zlib.compress(content, 6),
            "zlib 1 and a dictionary of 4 kB": primed,
        }
        found[name] = {"n": len(rest)} | {way: packed(rest, pack) for way, pack in ways.items()}
    return found


def packed(several: Sequence[bytes], pack: Callable[[bytes], bytes]) -> dict[str, float]:
    """Mean bytes, and microseconds at the best of five times."""
    times = [timed(lambda: [pack(content) for content in several])[0] for _ in range(5)]
    size = statistics.mean(len(pack(content)) for content in several)
    return {"bytes": round(size), "us": round(min(times) / len(several) * 1e6, 1)}


def machine() -> dict[str, object]:
    """What it ran on, and with what."""
    import sqlite3

    cpu = (
        next(
            (
                line.split(":")[1].strip()
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if "model name" in line
            ),
            platform.processor(),
        )
        if Path("/proc/cpuinfo").exists()
        else platform.processor()
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.executable).name, "benchmarks/journal.py", *sys.argv[1:]]),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "versions": {name: importlib.metadata.version(name) for name in ("motet", "msgspec")},
    }


def main() -> None:
    """Measure what was asked for and print it."""
    parts = ("records", "latency", "overhead", "packing")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=parts, help="measure this alone")
    parser.add_argument("--calls", type=int, default=20_000, help="calls of `records`")
    parser.add_argument("--questions", type=int, default=300, help="questions of `overhead`")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of `overhead`")
    parser.add_argument("--out", type=Path, help="write the JSON there as well")
    asked = parser.parse_args()
    works: dict[str, Callable[[], dict[str, object]]] = {
        "records": lambda: records(asked.calls, max(3, asked.rounds // 2)),
        "latency": lambda: latency(2_000),
        "overhead": lambda: overhead(asked.questions, asked.rounds),
        "packing": packing,
    }
    report: dict[str, object] = {"machine": machine()}
    for part in [asked.only] if asked.only else parts:
        print(f"{part} …", file=sys.stderr)
        report[part] = works[part]()
    text = json.dumps(report, indent=2, ensure_ascii=False)
    if asked.out:
        asked.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
