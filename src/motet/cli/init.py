"""`motet init`: a configuration to begin from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motet.cli.options import Json

NAME = "motet.toml"


def init(
    force: Annotated[bool, typer.Option("--force", help="Overwrite the one that is here.")] = False,
    json: Json = False,
) -> None:
    """Write a motet.toml to begin from.

    It is the built-in configuration, with comments, in this folder.
    """
    from motet.cli import output, shapes
    from motet.errors import MotetError, UsageError
    from motet.spec.source import DEFAULT

    path = Path(NAME)
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(DEFAULT.read_bytes())
    except FileExistsError:
        raise UsageError(f"{NAME} is here already: --force overwrites it") from None
    except OSError as error:
        raise MotetError(f"{NAME} can't be written: {error.strerror}") from None
    output.say(f"wrote {NAME}; next: motet doctor", style="green")
    if json:
        output.json(shapes.Written(str(path.absolute())))
