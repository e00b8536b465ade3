"""Fetching the models of the pool: the bar, the terms, and which of them a mixture still needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from motet.cli import output
from motet.errors import LicenseRequired, ModelFileError
from motet.pool import CATALOGUE, WAITING, ModelStatus, PoolModel, Progress, fetch, status

if TYPE_CHECKING:
    from motet.spec import Config


def get(name: str, *, accept_license: bool = False, force: bool = False) -> Path:
    """Fetch a model with a progress bar on stderr; its terms are put to whoever sits at the terminal.

    Raises:
        LicenseRequired: its terms were not accepted.
        ModelFileError: it can't be had.
        UsageError: there is no such model.
    """
    try:
        with progress(name) as tell:
            return fetch(name, accept_license=accept_license, force=force, progress=tell)
    except KeyboardInterrupt:
        output.say(
            "motet: interrupted; what was fetched is kept, and the next fetch goes on from there", style="yellow"
        )
        raise
    except LicenseRequired as error:
        if accept_license or not asks():
            raise
        if not consents(next(model for model in CATALOGUE if model.name == name)):
            raise LicenseRequired(f"{name} was not fetched, since its terms were not accepted") from error
    return get(name, accept_license=True, force=force)


def asks() -> bool:
    """Whether somebody can be asked: both ends are a terminal."""
    return sys.stdin.isatty() and output.animated()


def agreed(question: str, *, default: bool) -> bool:
    """The answer of whoever sits at the terminal, on stderr, since stdout is data."""
    while True:
        sys.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        word = line.strip().lower()
        if word in ("y", "yes", "n", "no"):
            return word[0] == "y"
        if not line:
            sys.stderr.write("\n")
            return False
        if not word:
            return default


def consents(model: PoolModel) -> bool:
    """Show where the terms of a model are, and ask whether they are accepted."""
    output.say(f"{model.title} comes under the {model.license}.")
    output.say(f"Read them here: {model.license_url}")
    return agreed("Do you accept them?", default=False)


@contextmanager
def progress(name: str) -> Iterator[Progress]:
    """A progress bar on a terminal; a line a phase where nobody looks."""
    if not output.animated():
        told: set[str] = set()

        def line(done: int, total: int, what: str) -> None:
            if what not in told:
                told.add(what)
                output.say(f"{name}: {what}" + (f" {output.size(total)}" if what != WAITING else " …"))

        yield line
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=output.stderr(), transient=True) as bar:
        tasks: dict[str, object] = {}

        def draw(done: int, total: int, what: str) -> None:
            if what not in tasks:
                for before in tasks.values():
                    bar.update(before, visible=False)  # type: ignore[arg-type]
                tasks[what] = bar.add_task(f"{name}  {what}", total=total)
            bar.update(tasks[what], completed=done, total=total, visible=True)  # type: ignore[arg-type]

        yield draw


def absent(models: Mapping[str, object]) -> dict[str, ModelStatus]:
    """The models of a document that are of the pool and not here, by their names in the document."""
    here = {model.name: model for model in status()}
    found = {}
    for name, table in models.items():
        pooled = here.get(str(table.get("model"))) if isinstance(table, dict) else None
        if pooled is not None and pooled.path is None and backend(table) == "llama":
            found[name] = pooled
    return found


def backend(table: object) -> str:
    """What runs a model, which its table says or implies."""
    from motet.spec.model import IMPLIED

    assert isinstance(table, dict)
    implied = next((word for key, word in IMPLIED.items() if key in table), "")
    return str(table.get("backend", implied))


def command(models: Sequence[ModelStatus]) -> str:
    """What to run to fetch these."""
    accept = " --accept-license" if any(model.must_accept and not model.accepted for model in models) else ""
    return f"motet models fetch {' '.join(dict.fromkeys(model.name for model in models))}{accept}"


def ensure(config: Config, name: str) -> None:
    """See to it that a mixture has a language model to ask, before it is asked.

    Where none of its language models is here, whoever sits at the terminal is offered the one that needs no consent.
    Those that it can do without are found missing when they are called.

    Raises:
        ModelFileError: there is none; says the command that fetches them.
    """
    models = config.subset(name).get("models")
    assert isinstance(models, dict)
    missing = absent(models)
    speaking = [each for each, table in models.items() if backend(table) != "function"]
    if not missing or set(speaking) - set(missing):
        return
    wanted = list({model.name: model for model in missing.values()}.values())
    free = next((model for model in wanted if not model.must_accept), None)
    if free is None or not asks():
        # One is enough to begin with: the one without terms, if there is one.
        first = command([free]) if free is not None and len(wanted) > 1 else ""
        names = " and ".join(model.name for model in wanted)
        only = f", or only `{first}`" if first else ""
        raise ModelFileError(f"the models of {name} are not here yet ({names}): run `{command(wanted)}`{only}")
    output.say(f"The models of {name} are not here yet.")
    if not agreed(
        f"Fetch {free.name} now ({output.size(free.download_size)}, {free.license})?",
        default=True,
    ):
        raise ModelFileError(f"nothing was fetched: `{command([free])}` does it later")
    get(free.name)
