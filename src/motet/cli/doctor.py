"""`motet doctor`: does every configured model answer, and if not, what is to be done?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Config, Json

if TYPE_CHECKING:
    from motet.backend import Backend
    from motet.cli.shapes import Checked, Health
    from motet.spec import Config as Configuration

QUESTION = "What is 2 + 2? Answer with a number only."
TOKENS = 16
"""Enough to see that a model answers; a reply that is cut there is an answer too."""
TRIED = 4
"""Models that are tried at once."""
PACKAGES = ("aiohttp", "msgspec", "pydantic", "rich", "typer", "xllamacpp", "genai-prices", "pyyaml")
TODO = {
    "auth": "set the key, or correct it",
    "quota": "look at the account: it is out of money",
    "rate_limit": "wait, or lower max_concurrency",
    "not_found": "correct base_url or model",
    "connect": "start the server, or correct base_url",
    "timeout": "is it overloaded? a longer --timeout may do",
    "server": "the endpoint is in trouble: try again later",
    "malformed": "does base_url end where the endpoint's API begins (often /v1)?",
    "bad_request": "correct model or extra",
}


def doctor(
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How long a model may take.")] = 30.0,
    config: Config = None,
    json: Json = False,
) -> None:
    """Try every model and say what is wrong.

    Each configured model gets one tiny call.

    Exit code 69 if a model fails that your configuration file defines, or that the default mixture needs; built-in
    models that nothing of yours uses may be missing.
    """
    import contextlib
    import platform
    import shutil
    import sys

    from msgspec.structs import replace

    from motet import __version__, api
    from motet.cli import output, shapes
    from motet.cli.codes import Code
    from motet.journal import default_path
    from motet.paths import cache_dir

    known = api.configuration(config)
    health = shapes.Health(
        ok=False,  # not known yet
        motet=__version__,
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        config=known.path,
        cache=str(cache_dir()),
        runs=str(default_path()),
        free_bytes=shutil.disk_usage(cache_dir()).free,
        models=[],
    )
    if not json:
        _print_about(health)
    count = len(known.models)
    trying = f"trying {count} model{'' if count == 1 else 's'} …"
    with output.stderr().status(trying) if output.animated() else contextlib.nullcontext():
        checked = api.background(_all(known, timeout))
    health = replace(health, ok=all(each.state != "failed" for each in checked), models=checked)
    if json:
        output.json(health)
    else:
        _print_models(health.models)
    if not health.ok:
        raise typer.Exit(Code.UNAVAILABLE)


def _print_about(health: Health) -> None:
    from motet.cli import output

    missing = [name for name, version in health.packages.items() if version is None]
    packages = ", ".join(f"{name} {version}" for name, version in health.packages.items() if version)
    lines = [
        f"motet {health.motet}, Python {health.python}, {health.platform}",
        f"packages: {packages}" + (f"; not installed: {', '.join(missing)}" if missing else ""),
        f"configuration: {health.config}",
        f"models: {health.cache} ({output.size(health.free_bytes)} free)",
        f"kept runs: {health.runs}",
        "",
    ]
    output.data("\n".join(lines) + "\n")


def _print_models(models: Sequence[Checked]) -> None:
    from motet.cli import output

    rows = [
        (
            each.name,
            each.state,
            f"{each.seconds:.1f}",
            f"{each.kind}: {each.text}" if each.kind else each.text,
            each.todo or "–",
        )
        for each in models
    ]
    output.show(output.table(("model", "state", "s", "said", "to do"), rows, wraps=("said", "to do")))


async def _all(config: Configuration, timeout: float) -> list[Checked]:
    """Every model, a few at once."""
    places = asyncio.Semaphore(TRIED)
    needed = set()
    if config.default:
        models = config.subset(config.default).get("models", {})
        assert isinstance(models, dict)
        needed = set(models)

    async def one(name: str) -> Checked:
        async with places:
            return await _try(config, name, timeout, vital=name in needed or not _builtin(config, name))

    return list(await asyncio.gather(*(one(name) for name in config.models)))


def _builtin(config: Configuration, name: str) -> bool:
    return config.where(("models", name)).startswith("built-in")


async def _try(config: Configuration, name: str, timeout: float, *, vital: bool) -> Checked:
    from motet.cli import shapes
    from motet.cli.fetching import absent, command
    from motet.errors import BackendError, MotetError
    from motet.message import Message, Request, Sampling

    began, state, kind, text, todo = time.monotonic(), "ok", "", "", ""
    models = config.document["models"]
    assert isinstance(models, dict)
    missing = absent({name: models[name]})
    try:
        if missing:
            todo = command(list(missing.values()))
            raise BackendError("model_file", "not fetched yet")
        request = Request(
            name,
            messages=(Message("user", QUESTION),),
            sampling=Sampling(max_tokens=TOKENS),
            deadline=asyncio.get_running_loop().time() + timeout,
        )
        async with asyncio.timeout(timeout):
            reply = await _uncached(config.model(name)).complete(request)
        text = {"abstained": "has nothing to say to 2 + 2", "empty": "an empty reply"}.get(reply.state, reply.text)
    except TimeoutError:
        state, kind, text = "failed", "timeout", f"no answer within {timeout:g} s"
    except BackendError as error:
        state, kind, text = "failed", error.kind, error.text
        if kind == "model_file" and not missing:
            todo = _mend(models[name])
    except MotetError as error:
        state, kind, text = "failed", "config", str(error)
        todo = "; ".join(f"export {variable}=…" for variable in config.missing_variables(name))
    except Exception as error:  # a function of one's own that fails is what is looked for here
        state, kind, text = "failed", "server", f"{type(error).__name__}: {error}"
        todo = "correct the function"
    return shapes.Checked(
        name=name,
        state="unused" if state == "failed" and not vital else state,
        kind=kind,
        text=" ".join(text.split()),
        todo=todo or TODO.get(kind, ""),
        seconds=shapes.seconds(time.monotonic() - began),
    )


def _uncached(backend: Backend) -> Backend:
    """The model itself: no cache may answer for it, and its try is nobody's call."""
    from motet.backends.cached import Cached
    from motet.backends.journaled import Journaled

    while isinstance(backend, Cached | Journaled):
        backend = backend.backend
    return backend


def _mend(table: object) -> str:
    """What to do about a local model that is there and can't be loaded."""
    assert isinstance(table, dict)
    if _version("xllamacpp") is None:
        return "pip install 'motet[local]'"
    return (
        "correct path, or get the file again" if table.get("path") else f"motet models fetch {table['model']} --force"
    )


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
