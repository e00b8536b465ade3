"""Getting a configuration: from its file, or from data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from motet.backend import Backend
from motet.run import Agent
from motet.spec.checked import Checked
from motet.spec.config import Config
from motet.spec.source import Source, builtin, check_plain, find, read


def load(path: str | Path | None = None) -> Config:
    """The configuration that applies.

    Args:
        path: its file; without one, that named by `MOTET_CONFIG`, else the closest `motet.toml`, `motet.yaml` or
            `pyproject.toml` with a `[tool.motet]` from the working directory upwards, else the built-in one.

    Raises:
        ConfigError: something is wrong with it; names file, line and key of each thing.
    """
    found = Path(path).expanduser() if path is not None else find()
    return Config(Checked(builtin()) if found is None else Checked(read(found), builtin()))


def from_document(
    document: Mapping[str, object], *, models: Mapping[str, Backend] | None = None, keyless: bool = False
) -> Config:
    """A configuration from data, without the built-in one: what `Config.subset` or `describe` gave, say.

    Args:
        document: as in motet.toml; `folder` may say what relative paths start from.
        models: backends to use for the models of these names, whatever the document says of them.
        keyless: whether environment variables may be missing: for replays and lists, which call no model.

    Raises:
        ConfigError: something is wrong with it; names the key of each thing.
    """
    folder = document.get("folder")
    rest = {key: value for key, value in document.items() if key != "folder"}
    source = Source(rest, folder=Path(folder) if isinstance(folder, str) else None)
    check_plain(source)
    return Config(Checked(source, given=models or ()), models=models, keyless=keyless)


def build(document: Mapping[str, object], models: Mapping[str, Backend]) -> Agent:
    """The agent that a document describes, on the given backends: the reverse of `describe`.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> from motet.spec import describe
    >>> smol = Scripted("4", name="smol")
    >>> vote = Vote((ModelAgent(smol, "a"), ModelAgent(smol, "b")))
    >>> build(describe(vote), {"smol": smol}) == vote
    True

    Raises:
        ConfigError: something is wrong with it; names the key of each thing.
    """
    return from_document(document, models=models).agent()
