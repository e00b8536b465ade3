"""What the core itself costs: time per ask, a hundred and thirty thousand asks in flight, import and install.

    python benchmarks/core.py --out core.json      # overhead, flight, import: about four minutes, most of it flight
    python benchmarks/core.py --only overhead      # one of them
    python benchmarks/core.py --install-size       # and the size of an install in a fresh environment

JSON on stdout: for each claim its target, what was measured (n, rounds, median, spread) and whether it was met; and
the machine, the versions and the command. Times are taken as they are, on whatever else the machine is doing: the
load average stands beside them.
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
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("overhead", "flight", "import", "install")


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, extremes and quartiles of what was measured."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    found = {"median": statistics.median(values), "min": min(values), "q1": low, "q3": high, "max": max(values)}
    return {name: round(value, 4) for name, value in found.items()}


def verdict(name: str, target: float, value: float, unit: str) -> dict[str, object]:
    """A claim, its target and whether it was met; every target here is an upper bound."""
    return {"claim": name, "at_most": target, "measured": round(value, 4), "unit": unit, "met": value <= target}


# ---- (b) what an ask costs


def overhead(rounds: int) -> dict[str, object]:
    """The core's own time per ask: small mixtures on a backend that answers at once, with trace and budget.

    A question to a mixture of five makes six asks, its own and its members', and five calls. From the time of the
    whole, `perform` included, the time of five bare calls is taken off. Times are CPU times, which leave out what
    others ran in between, but not that they had the caches and the other half of the core. So a yardstick, a loop that
    always does the same, is timed in each round: it tells the rounds in which the machine was left alone from the
    others. The verdict is given for both, and for the whole time shared out over the five calls alone.
    """
    from motet.agent import ModelAgent
    from motet.backend import Backend, Card, deltas
    from motet.budget import Budget
    from motet.message import Chat, Delta, Reply, Request, Usage
    from motet.perform import perform
    from motet.run import Run
    from motet.trace import AskStarted

    @dataclass(frozen=True)
    class Instant:
        name: str = "instant"
        card: Card = Card(local=True)

        async def complete(self, request: Request) -> Reply:
            return Reply("391", usage=Usage(1, 20, output=1))

        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            async for delta in deltas(await self.complete(request)):
                yield delta

        def count(self, text: str) -> int:
            return -(-len(text) // 4)

    @dataclass(frozen=True)
    class Panel:
        members: Sequence[ModelAgent]
        name: str = "panel"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            replies = await run.all(run.ask(member, chat) for member in self.members)
            return replies[0]

    backend: Backend = Instant()
    agents = [ModelAgent(backend, f"member-{i}", system=f"You are member {i} of a panel.") for i in range(25)]
    chat = Chat.of("What is 17 * 23?")
    questions = 5

    async def timed(members: int, seconds: float | None) -> float:
        """Microseconds a question."""
        panel = Panel(agents[:members])
        began = time.process_time()
        for _ in range(questions):
            purse = Budget(calls=1_000, tokens=10**6, usd=1.0, seconds=seconds)
            result = await perform(panel, chat, budget=purse)
        taken = (time.process_time() - began) / questions * 1e6
        assert result.usage.calls == members
        assert sum(isinstance(event, AskStarted) for event in result.trace) == members + 1
        return taken

    async def bare() -> float:
        """Microseconds a bare call."""
        request = Request("instant", chat.messages)
        began = time.process_time()
        for _ in range(questions * 5):
            await backend.complete(request)
        return (time.process_time() - began) / questions / 5 * 1e6

    def yardstick() -> float:
        began, total = time.process_time(), 0
        for number in range(5_000):
            total += number
        return (time.process_time() - began) * 1e6

    async def all_rounds() -> list[dict[str, float]]:
        await timed(5, None)  # what is made once is made here
        found = []
        for _ in range(rounds):
            before, call, five, clock = yardstick(), await bare(), await timed(5, None), await timed(5, 60.0)
            large, after = await timed(25, None), yardstick()
            found.append(
                {
                    "yardstick": max(before, after),
                    "us_bare_call": call,
                    "us_per_ask": (five - 5 * call) / 6,
                    "us_per_call": (five - 5 * call) / 5,
                    "us_per_ask_with_a_limit_of_seconds": (clock - 5 * call) / 6,
                    "us_per_further_member": (large - five) / 20 - call,
                }
            )
        return found

    found = sorted(asyncio.run(all_rounds()), key=lambda each: each["yardstick"])
    calm = found[: max(7, rounds // 4)]
    report: dict[str, object] = {
        "clock": "CPU time of the process",
        "questions_per_round": questions,
        "asks_per_question": 6,
        "calls_per_question": 5,
        "all": {"rounds": rounds} | {name: spread([each[name] for each in found]) for name in found[0]},
        "calmest_quarter": {"rounds": len(calm)} | {name: spread([each[name] for each in calm]) for name in found[0]},
    }
    report["verdicts"] = [
        verdict(f"core overhead {name[3:].replace('_', ' ')}, median of {those}", 50, statistics.median(values), "µs")
        for name in ("us_per_ask", "us_per_call")
        for those, part in (("all rounds", found), ("the calmest quarter of rounds", calm))
        for values in [[each[name] for each in part]]
    ]
    return report


# ---- (c) asks in flight


def flight(asks: int, freeze: bool = True) -> dict[str, object]:
    """As many asks as wanted in flight at once on the simulated backend, while a heartbeat measures the loop's delay.

    With `freeze`, every 2,048 questions what is alive is taken out of the garbage collector's sight, as a program with
    so many objects should do: else Python walks through millions of live objects again and again, and stops for a
    second or more each time. motet does not do this by itself, since the collector belongs to the whole process.

    The heart sleeps 10 ms and notes how late it wakes. A stall hides the beats it swallows, so the delay is also told
    as a control call at a random moment would meet it: beats that should have come during a stall are put back.
    """
    import resource

    from motet.agent import ModelAgent
    from motet.backends.simulated import Simulated, World
    from motet.budget import Budget
    from motet.message import Chat, Reply, Request
    from motet.perform import perform
    from motet.run import Run

    beat = 0.010
    world = World(seed=1)
    # Nobody may be done before all have begun: with this spread the quickest of 130,000 takes half the median.
    model = Simulated("simulated", world, latency=75.0, latency_sigma=0.15)

    class Counted:
        """The simulated model, with a count of the calls under way."""

        name, card, flying, most = model.name, model.card, 0, 0

        async def complete(self, request: Request) -> Reply:
            self.flying += 1
            self.most = max(self.most, self.flying)
            try:
                return await model.complete(request)
            finally:
                self.flying -= 1

        stream = model.stream
        count = model.count

    @dataclass(frozen=True)
    class Crowd:
        member: ModelAgent
        name: str = "crowd"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            def questions() -> Iterator[Chat]:
                for number in range(asks):
                    if freeze and number % 2048 == 2047:
                        gc.freeze()
                    yield Chat.of(world.question(number).text)

            replies = await run.all(run.ask(self.member, question) for question in questions())
            return replies[0]

    counted = Counted()
    crowd = Crowd(ModelAgent(counted, "member", system="You are careful and brief."))
    delays: list[float] = []
    pauses: list[float] = []

    def note(phase: str, _: object) -> None:
        if phase == "start":
            pauses.append(-time.perf_counter())
        else:
            pauses[-1] += time.perf_counter()

    async def heart() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + beat
            await asyncio.sleep(beat)
            delays.append(max(0.0, loop.time() - due))

    async def work() -> tuple[int, str]:
        beating = asyncio.create_task(heart())
        result = await perform(crowd, "Go.", budget=Budget(calls=2 * asks, tokens=10**12, usd=1e6))
        beating.cancel()
        return result.usage.calls, result.outcome.state

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gc.callbacks.append(note)
    began = time.perf_counter()
    calls, state = asyncio.run(work())
    seconds = time.perf_counter() - began
    gc.callbacks.remove(note)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    met = [delay - beat * missed for delay in delays for missed in range(int(delay / beat) + 1)]
    return {
        "asks": asks,
        "frozen": freeze,
        "calls": calls,
        "outcome": state,
        "most_in_flight": counted.most,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(time.process_time(), 1),
        "delay_ms_of_beats": percentiles(delays),
        "delay_ms_at_a_random_moment": percentiles(met),
        "collector_ms": {
            "passes": len(pauses),
            "total": round(sum(pauses) * 1e3),
            "longest": round(max(pauses, default=0.0) * 1e3),
        },
        "peak_mib": round(peak, 1),
        "peak_mib_before": round(before, 1),
        "kib_per_ask": round((peak - before) * 1024 / asks, 2),
    }


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """How many there are, and their percentiles in milliseconds."""
    order = sorted(seconds)
    found = {f"p{share}": order[min(len(order) - 1, len(order) * share // 100)] for share in (50, 90, 99)}
    return {"n": len(order)} | {name: round(value * 1e3, 2) for name, value in (found | {"max": order[-1]}).items()}


def flight_alone(asks: int) -> dict[str, object]:
    """`flight` in a fresh process, so that its peak of memory is its own; and whether the claims hold."""
    command = [sys.executable, __file__, "--only", "flight", "--here", "--asks", str(asks)]
    report: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    beats, delay, peak = report["delay_ms_of_beats"], report["delay_ms_at_a_random_moment"], report["peak_mib"]
    assert isinstance(beats, dict)
    assert isinstance(delay, dict)
    assert isinstance(peak, float)
    assert report["most_in_flight"] == report["calls"] == asks, f"not all were in flight at once: {report}"
    report["verdicts"] = [
        verdict(f"control delay p99 of the beats with {asks:,} asks in flight", 500, beats["p99"], "ms"),
        verdict(f"control delay p99 at a random moment with {asks:,} asks in flight", 500, delay["p99"], "ms"),
        verdict(f"peak memory with {asks:,} asks in flight", 2.5 * 1024, peak, "MiB"),
    ]
    return report


# ---- (d) import


HEAVY = ("torch", "numpy", "scipy", "sklearn", "pydantic", "typer", "rich", "xllamacpp", "sqlite3")
NETWORK = ("aiohttp", "httpx", "requests", "urllib3", "http.client", "urllib.request", "pip")
PROBE = f"""
import json, sys, time
calls = []
def hear(event, _):
    if event.startswith(("socket.connect", "socket.getaddrinfo")):
        calls.append(event)
sys.addaudithook(hear)
before = set(sys.modules)
began = time.perf_counter()
import motet
seconds = time.perf_counter() - began
with open("/proc/self/status") as status:
    resident = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
found = [name for name in {HEAVY + NETWORK!r} if name in sys.modules]
print(json.dumps({{"seconds": seconds, "resident": resident, "found": found, "calls": calls,
                   "modules": len(set(sys.modules) - before)}}))
"""


def importing(rounds: int) -> dict[str, object]:
    """`import motet` in fresh interpreters: time, resident memory, and what came along."""

    def once(code: str) -> dict[str, Any]:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    once(PROBE)  # writes the bytecode
    found = [once(PROBE) for _ in range(rounds)]
    nothing = [once(PROBE.replace("import motet\n", "\n", 1)) for _ in range(3)]
    seconds, resident = spread([each["seconds"] for each in found]), spread([each["resident"] for each in found])
    return {
        "rounds": rounds,
        "seconds": seconds,
        "resident_mib": resident,
        "resident_mib_of_python_alone": round(statistics.median([each["resident"] for each in nothing]), 1),
        "modules": found[0]["modules"],
        "heavy_or_network_modules_imported": found[0]["found"],
        "connections_made": found[0]["calls"],
        "verdicts": [
            verdict("import motet, median", 0.25, seconds["median"], "s"),
            verdict("resident after import, median", 45, resident["median"], "MiB"),
            verdict("heavy or network modules imported", 0, len(found[0]["found"]), "modules"),
            verdict("connections made", 0, len(found[0]["calls"]), "connections"),
        ],
    }


# ---- (d) install


SIZES = """
import importlib.metadata, json, pathlib, sysconfig
sizes = {}
for package in importlib.metadata.distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]):
    files = {pathlib.Path(package.locate_file(file)).resolve() for file in package.files or ()}
    files = [(file.suffix == ".pyc", file.stat()) for file in files if file.is_file()]
    sizes[package.name] = {
        "files": sum(file.st_size for compiled, file in files if not compiled) / 1e6,
        "with_bytecode": sum(file.st_size for _, file in files) / 1e6,
        "on_disk": sum(file.st_blocks * 512 for _, file in files) / 1e6,
    }
print(json.dumps(sizes))
"""


def installing() -> dict[str, object]:
    """An install without extras in a fresh environment, and with numpy: megabytes, in all and by package.

    Three ways to count: the files that the wheels hold; with the bytecode that pip compiles from them; and the blocks
    that all of it takes on the disk. Numpy alone takes 57, 71 and 75 MB; the verdict is given for all three.
    """

    def sizes(python: Path) -> dict[str, dict[str, float]]:
        done = subprocess.run([python, "-c", SIZES], check=True, capture_output=True, text=True)
        found: dict[str, dict[str, float]] = json.loads(done.stdout)
        return {name: size for name, size in found.items() if name not in ("pip", "setuptools")}

    def totals(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        kinds = ("files", "with_bytecode", "on_disk")
        return {kind: round(sum(size[kind] for size in found.values()), 1) for kind in kinds}

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        python = Path(folder, "bin", "python")
        install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, ROOT], check=True)
        core = sizes(python)
        subprocess.run([*install, "numpy"], check=True)
        more = sizes(python)
    packages = {name: round(size["files"], 2) for name, size in core.items()}
    return {
        "mb": totals(core),
        "mb_with_numpy": totals(more),
        "mb_of_files_by_package": dict(sorted(packages.items(), key=lambda item: -item[1])),
        "verdicts": [
            verdict(f"core install with numpy, {kind.replace('_', ' ')}", 105, size, "MB")
            for kind, size in totals(more).items()
        ],
    }


# ---- together


def machine() -> dict[str, object]:
    """What it ran on, and with what."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [text.split(">")[0].split("[")[0] for text in project["dependencies"]]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.executable).name, "benchmarks/core.py", *sys.argv[1:]]),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("motet", *named)},
    }


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=PARTS, help="measure this alone")
    parser.add_argument("--install-size", action="store_true", help="measure the install as well (a minute)")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of `overhead`, at least 28")
    parser.add_argument("--asks", type=int, default=130_000, help="asks in flight at once")
    parser.add_argument("--leave-collector", action="store_true", help="`flight --here` without freezing what is alive")
    parser.add_argument("--here", action="store_true", help="`flight` in this process, printed alone")
    parser.add_argument("--out", type=Path, help="write the JSON there as well")
    asked = parser.parse_args()
    if asked.rounds < 28:
        parser.error(f"{asked.rounds} rounds say little: give 28 or more, of which the calmest quarter is told apart")
    if asked.here:
        print(json.dumps(flight(asked.asks, freeze=not asked.leave_collector)))
        return
    wanted = (
        {asked.only}
        if asked.only
        else {"overhead", "flight", "import"} | ({"install"} if asked.install_size else set())
    )
    report: dict[str, object] = {"machine": machine()}
    works: Mapping[str, Callable[[], dict[str, object]]] = {
        "overhead": lambda: overhead(asked.rounds),
        "flight": lambda: flight_alone(asked.asks),
        "import": lambda: importing(15),
        "install": installing,
    }
    for part in PARTS:
        if part in wanted:
            print(f"{part} …", file=sys.stderr)
            report[part] = works[part]()
    text = json.dumps(report, indent=2, ensure_ascii=False)
    if asked.out:
        asked.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
