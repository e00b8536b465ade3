"""`motet replay`: a kept run once more, byte for byte, with no call to any model."""

from __future__ import annotations

import typer

from motet.cli.options import Json, RunName


def replay(run: RunName = "last", json: Json = False) -> None:
    """Print a kept run again, without any call.

    The run is performed again from its record, so it prints the same bytes as `motet ask` did: the answer, or with
    --json the object.
    """
    from motet import api
    from motet.cli.ask import report
    from motet.cli.codes import code_of_result
    from motet.errors import ConfigError, MotetError
    from motet.record import Record
    from motet.replay import replay as perform_again
    from motet.runs import load
    from motet.spec import from_document

    trace = load(run)
    record = Record(trace)
    wanted = record.started.wanted.get("config")
    if not isinstance(wanted, dict):
        raise MotetError(f"{run} was not asked for by name, so its agent can't be made again: replay it in Python")
    if record.ended is None or record.ended.error.startswith("interrupted"):
        raise MotetError(f"{run} was interrupted, so there is no end to replay: motet trace show {record.started.run}")
    try:
        agent = from_document(wanted, keyless=True).agent()
    except ConfigError as error:
        raise MotetError(f"the agents of {run} can't be made again: {error}") from None
    result = api.background(perform_again(trace, agent))
    report(result, [], json)
    raise typer.Exit(code_of_result(result))
