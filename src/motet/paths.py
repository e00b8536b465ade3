"""Where motet keeps what it writes: one folder for what can be fetched again, one for what can't.

Both are the platform's own folders, or lie under `MOTET_HOME` when that is set:

| | holds | by default (Linux) | with `MOTET_HOME` |
|---|---|---|---|
| `cache_dir` | models | `~/.cache/motet` | `$MOTET_HOME` |
| `state_dir` | the journal: calls, replies, runs | `~/.local/state/motet` | `$MOTET_HOME/state` |

A folder is created when it is first asked for, never at import.
"""

from __future__ import annotations

import os
from pathlib import Path

from motet.errors import ConfigError


def cache_dir() -> Path:
    """The folder for what can be fetched or computed again; losing it costs time only.

    Raises:
        ConfigError: the folder isn't there and can't be made.

    Example:
        >>> cache_dir().is_dir()
        True
    """
    return _made(_home() or _platform("cache"))


def state_dir() -> Path:
    """The folder for what can't be had again: the journal.

    Raises:
        ConfigError: the folder isn't there and can't be made.

    Example:
        >>> state_dir().is_dir()
        True
    """
    home = _home()
    return _made(home / "state" if home else _platform("state"))


def _home() -> Path | None:
    value = os.environ.get("MOTET_HOME", "")
    return Path(value).expanduser().absolute() if value else None


def _platform(kind: str) -> Path:
    import platformdirs

    # appauthor=False: on Windows the name would otherwise come twice in the path.
    find = platformdirs.user_cache_path if kind == "cache" else platformdirs.user_state_path
    return find("motet", appauthor=False)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"can't make the folder {folder}: {error.strerror}; point MOTET_HOME at one that can be written"
        ) from error
    return folder
