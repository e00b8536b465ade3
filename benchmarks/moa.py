"""What motet adds to a mixture over HTTP: the same calls by hand in asyncio and aiohttp, in the same run.

    python benchmarks/moa.py --out moa.json

A Mixture-of-Agents of 3 proposers, 2 layers and an aggregator: 7 calls, 3 in series, against a server in another
process that answers after 50 ms. Wall time of one question and of 50 at once, and CPU a call, tracing and budgets on;
medians over rounds, the two taking turns. The plain loop builds the same prompts and sends as many bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import report

from motet import Budget, MixtureOfAgents, ModelAgent, Sampling, Synthesize, perform
from motet.aggregate.synthesize import NOTE
from motet.backends.presets import openai_backend
from motet.backends.session import aclose
from motet.prompt import fenced

LATENCY = 0.05
ANSWER = "Rayleigh scattering: short waves are scattered more than long ones, so the sky looks blue. " * 3
QUESTION = "Why is the sky blue? Answer in two sentences."
MODELS = ("alpha", "beta", "gamma")
LAYERS = 2


def serve(port_file: str) -> None:
    """An OpenAI-shaped endpoint that answers after `LATENCY` seconds."""
    from aiohttp import web

    reply = {
        "id": "x",
        "object": "chat.completion",
        "model": "x",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 60, "total_tokens": 260},
    }
    body = json.dumps(reply).encode()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY)
        return web.Response(body=body, content_type="application/json")

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
        await site.start()
        port = runner.addresses[0][1]
        Path(port_file).write_text(str(port))  # noqa: ASYNC240  (once, before anything is served)
        await asyncio.Event().wait()

    asyncio.run(main())


def mixture(base_url: str) -> MixtureOfAgents:
    """The mixture over the endpoint."""
    agents = [
        ModelAgent(
            openai_backend(name, base_url=base_url, max_concurrency=1000, name=name),
            name,
            sampling=Sampling(max_tokens=256),
        )
        for name in MODELS
    ]
    return MixtureOfAgents(agents, Synthesize(agents[0]), layers=LAYERS)


async def with_motet(base_url: str, questions: int) -> None:
    """`questions` at once through motet, with a budget and a trace each."""
    agent = mixture(base_url)
    budgets = [Budget(calls=100, tokens=10**6, usd=1, seconds=60) for _ in range(questions)]
    results = await asyncio.gather(
        *(perform(agent, f"{QUESTION} ({place})", budget=budget) for place, budget in enumerate(budgets))
    )
    assert all(result.usage.calls == 7 and result.reply is not None for result in results)


async def by_hand(base_url: str, questions: int) -> None:
    """The same calls in a plain loop: no budget, no trace, no retry, no check of what comes back."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def call(model: str, prompt: str) -> str:
            messages = [{"role": "user", "content": prompt}]
            body = {"model": model, "messages": messages, "max_tokens": 256}
            async with session.post(f"{base_url}/chat/completions", json=body) as response:
                text: str = (await response.json())["choices"][0]["message"]["content"]
                return text

        async def moa(question: str) -> str:
            replies = await asyncio.gather(*(call(model, question) for model in MODELS))
            for _ in range(1, LAYERS):
                heard = "\n\n".join([question, NOTE, *(fenced(text, str(n)) for n, text in enumerate(replies))])
                replies = await asyncio.gather(*(call(model, heard) for model in MODELS))
            heard = "\n\n".join([question, NOTE, *(fenced(text, str(n)) for n, text in enumerate(replies))])
            return await call(MODELS[0], heard)

        await asyncio.gather(*(moa(f"{QUESTION} ({place})") for place in range(questions)))


def timed(work: Callable[[str, int], Awaitable[None]], base_url: str, questions: int) -> tuple[float, float]:
    """Wall and CPU seconds of `work` in a loop of its own, warmed up with one question."""

    async def run() -> tuple[float, float]:
        await work(base_url, 1)
        wall, cpu = time.perf_counter(), time.process_time()
        await work(base_url, questions)
        took = time.perf_counter() - wall, time.process_time() - cpu
        await aclose()
        return took

    return asyncio.run(run())


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--serve", metavar="PORT_FILE", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    port_file = Path(f"/tmp/motet-moa-{os.getpid()}.port")
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(port_file)])
    try:
        while not port_file.exists() or not port_file.read_text():
            time.sleep(0.05)
        base_url = f"http://127.0.0.1:{port_file.read_text()}/v1"
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.rounds):
            for name, work in (("motet", with_motet), ("by hand", by_hand)):
                for questions in (1, options.questions):
                    found.setdefault(f"{name}, {questions}", []).append(timed(work, base_url, questions))
    finally:
        server.terminate()
        server.wait()
        port_file.unlink(missing_ok=True)

    def median(name: str, column: int) -> float:
        return statistics.median(row[column] for row in found[name])

    many = options.questions
    figures = {
        "benchmark": "moa over HTTP: 3 proposers, 2 layers, an aggregator; 50 ms a call",
        "rounds": options.rounds,
        "one_question_s": {name: round(median(f"{name}, 1", 0), 4) for name in ("motet", "by hand")},
        "one_question_ratio": round(median("motet, 1", 0) / median("by hand, 1", 0), 3),
        f"{many}_questions_s": {name: round(median(f"{name}, {many}", 0), 4) for name in ("motet", "by hand")},
        f"{many}_questions_ratio": round(median(f"motet, {many}", 0) / median(f"by hand, {many}", 0), 3),
        "cpu_ms_per_call": {
            name: round(1000 * median(f"{name}, {many}", 1) / (7 * many), 3) for name in ("motet", "by hand")
        },
        "best_of_rounds": {
            name: [round(min(row[0] for row in rows), 4), round(1000 * min(row[1] for row in rows), 2)]
            for name, rows in found.items()
        },
        "load_average": os.getloadavg(),
    }
    report.write(figures, options.out)


if __name__ == "__main__":
    main()
