"""What the embedded models cost and gain: batching, prefixes used again, loading, memory, and how alike replies are.

    python benchmarks/local.py --out local.json                 # everything: about five minutes on two cores
    python benchmarks/local.py --only throughput --rounds 9     # one part of it

JSON on stdout: for each claim its target, what was measured (n, rounds, median, extremes) and whether it was met; and
the machine, the versions and the command. What is compared takes turns, since the machine may be doing other things;
the load average stands beside it, and CPU time, which suffers less from company, beside the wall time.

Needs both models of the pool: `motet models fetch`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path

from motet.backends.llama import Llama
from motet.backends.llama_server import cores
from motet.message import Message, Reply, Request, Sampling

MODELS = ("smollm2-135m", "gemma3-270m")
CHATS = 16
THINGS = ("ants", "bees", "cats", "dogs", "eels", "foxes", "goats", "hens")
FACTS = (
    *("capital of France|Paris", "capital of Spain|Madrid", "colour of grass|green", "opposite of hot|cold"),
    *("number of days in a week|7", "largest planet|Jupiter", "author of Hamlet|Shakespeare", "plural of mouse|mice"),
)
ASKED = (
    *("capital of Italy", "capital of Japan", "colour of snow", "opposite of up", "number of legs of a spider"),
    *("smallest planet", "author of Faust", "plural of foot", "capital of Egypt", "colour of coal", "opposite of wet"),
    *("number of months in a year", "nearest star", "inventor of the telephone", "plural of child", "past of go"),
)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and extremes of what was measured, and how often."""
    found = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {"rounds": len(values)} | {name: round(value, 3) for name, value in found.items()}


def verdict(name: str, target: float, value: float) -> dict[str, object]:
    """A claim, its target and whether it was met."""
    return {"claim": name, "at_least": target, "measured": round(value, 2), "met": value >= target}


def chat(text: str, tokens: int) -> Request:
    """A short chat, answered greedily."""
    return Request("m", (Message("user", text),), sampling=Sampling(temperature=0, max_tokens=tokens))


def few_shot(shots: Sequence[str], question: str, **sampling: object) -> Request:
    """A few-shot prompt, answered in a line."""
    lines = "".join("Q: What is the {}?\nA: {}\n".format(*shot.split("|")) for shot in shots)
    given = {"temperature": 0, "max_tokens": 16, "stop": ("\n",), **sampling}
    return Request("m", prompt=f"{lines}Q: What is the {question}?\nA:", sampling=Sampling(**given))  # type: ignore[arg-type]


async def one_by_one(backend: Llama, requests: Sequence[Request]) -> list[Reply]:
    """Each when the one before has been answered."""
    return [await backend.complete(request) for request in requests]


async def at_once(backend: Llama, requests: Sequence[Request]) -> list[Reply]:
    """All together."""
    return await asyncio.gather(*map(backend.complete, requests))


async def throughput(rounds: int) -> dict[str, object]:
    """Output tokens a second of 16 short chats, one by one and at once; no question comes twice."""
    backend = Llama("smollm2-135m")
    await backend.complete(chat("Hello", 1))
    ways = {"one_by_one": one_by_one, "at_once": at_once}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds):
        for offset, (way, ask) in enumerate(ways.items()):
            first = (2 * turn + offset) * CHATS
            asked = [chat(f"Tell me about {THINGS[n % 8]} in {1000 + first + n}.", 32) for n in range(CHATS)]
            began, spent = time.monotonic(), time.process_time()
            tokens = sum(reply.usage.output for reply in await ask(backend, asked))
            wall[way].append(tokens / (time.monotonic() - began))
            cpu[way].append(tokens / (time.process_time() - spent))
    backend.unload()
    gains = [many / one for one, many in zip(wall["one_by_one"], wall["at_once"], strict=True)]
    return {
        "n": CHATS,
        "tokens_a_second": {way: spread(values) for way, values in wall.items()},
        "tokens_a_cpu_second": {way: spread(values) for way, values in cpu.items()},
        "gain": spread(gains),
        "claim": verdict("16 chats at once over one by one", 1.5, statistics.median(gains)),
    }


async def first_token(backend: Llama, request: Request) -> tuple[float, Reply]:
    """Seconds to the first word, and the reply."""
    began, first = time.monotonic(), 0.0
    async for delta in backend.stream(request):
        first = first or time.monotonic() - began
        if delta.reply is not None:
            return first, delta.reply
    raise AssertionError("a stream without a reply")


async def prefix(rounds: int) -> dict[str, object]:
    """Time to the first token of a few-shot prompt: new, with its shots known, and after others took the slots."""
    found: dict[str, object] = {}
    for model in MODELS:
        backend = Llama(model)
        await backend.complete(chat("Hello", 1))
        seconds: dict[str, list[float]] = {"new": [], "known": [], "known_after_others": []}
        share: list[float] = []
        for turn in range(rounds):
            shots = [f"sum of {turn} and {n}|{turn + n}" for n in range(16)]
            others = [few_shot([f"product of {n} and {turn * 31 + m}|?" for m in range(9)], "end") for n in range(5, 9)]
            steps = {"new": "sum of 1 and 2", "known": "sum of 20 and 3", "known_after_others": "sum of 4 and 50"}
            for step, question in steps.items():
                if step == "known_after_others":
                    await at_once(backend, others)
                first, reply = await first_token(backend, few_shot(shots, question))
                seconds[step].append(first)
                if step != "new":
                    share.append(reply.usage.cached / reply.usage.input)
        backend.unload()
        gains = [cold / warm for cold, warm in zip(seconds["new"], seconds["known"], strict=True)]
        found[model] = {
            "prompt_tokens": reply.usage.input,
            "cached_share": spread(share),
            "seconds_to_first_token": {step: spread(values) for step, values in seconds.items()},
            "gain": spread(gains),
        }
    return found


def resident() -> float:
    """MB that this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def memory(rounds: int) -> dict[str, object]:
    """Seconds to load, MB of a loaded model, and what of it stays after unloading; the first round warms up."""
    found: dict[str, object] = {}
    for model in MODELS:
        backend = Llama(model)
        figures: dict[str, list[float]] = {"load_seconds": [], "file_mb": [], "loaded_mb": [], "left_mb": []}
        for turn in range(rounds + 1):
            before, began = resident(), time.monotonic()
            await backend.address()
            loading = time.monotonic() - began
            await backend.complete(chat("Hello", 1))
            loaded = resident() - before
            assert backend.unload()
            if turn:
                values = (loading, backend.path.stat().st_size / 1e6, loaded, resident() - before)
                for figure, value in zip(figures.values(), values, strict=True):
                    figure.append(value)
        found[model] = {
            "slots": backend.parallel,
            "context": backend.context,
            **{name: spread(values) for name, values in figures.items()},
        }
    return found


async def likeness(rounds: int) -> dict[str, object]:
    """Of 16 few-shot answers one by one, how many are the same, to the word and to the bit, among others and cached."""
    found: dict[str, object] = {}
    for model in MODELS:
        alone, shared = Llama(model, parallel=1), Llama(model)
        figures: dict[str, object] = {}
        for name, temperature in (("greedy", 0.0), ("sampled", 0.7)):
            asked = [few_shot(FACTS, question, temperature=temperature, logprobs=1) for question in ASKED]
            wanted = await one_by_one(alone, asked)
            words: list[float] = []
            bits: list[float] = []
            for _ in range(rounds):
                pairs = list(zip(wanted, await at_once(shared, asked), strict=True))
                words.append(sum(one.text == two.text for one, two in pairs))
                bits.append(sum(one.logprobs == two.logprobs for one, two in pairs))
            figures[name] = {"of": len(asked), "same_words": spread(words), "same_bits": spread(bits)}
        alone.unload()
        shared.unload()
        found[model] = figures
    return found


PARTS: dict[str, Callable[[int], Coroutine[None, None, dict[str, object]]]] = {
    "throughput": throughput,
    "prefix": prefix,
    "memory": memory,
    "likeness": likeness,
}


def machine() -> dict[str, object]:
    """What it ran on, and with what."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.executable).name, "benchmarks/local.py", *sys.argv[1:]]),
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": cores(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("motet", "xllamacpp")},
    }


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=PARTS, help="measure this alone")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison")
    parser.add_argument("--out", type=Path, help="write the JSON there as well")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"{asked.rounds} rounds measure nothing: give 1 or more")
    report: dict[str, object] = {"machine": machine()}
    for part, measure in PARTS.items():
        if asked.only in (None, part):
            print(f"{part} …", file=sys.stderr)
            report[part] = {"load_average": os.getloadavg()[0], **asyncio.run(measure(asked.rounds))}
    text = json.dumps(report, indent=2, ensure_ascii=False)
    if asked.out:
        asked.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
