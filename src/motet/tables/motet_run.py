"""The results file of `motet bench`: every entry, be it a member or a mixture, is an agent.

{"benchmark": "general", "entries": [{"name": "vote", "items": [
    {"id": "general-001", "topic": "knowledge", "right": true, "answer": "Vermeer", "tokens": 12, "seconds": 0.5}]}]}
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from motet.errors import UsageError
from motet.tables.draft import Draft, listed
from motet.tables.look import Look, mapping
from motet.tables.records import NAN, Outcome, Records


class _Item(msgspec.Struct):
    id: str
    right: float | bool | None = None
    answer: str | None = None
    topic: str = ""
    tokens: float | None = None
    seconds: float | None = None
    usd: float | None = None


class _Entry(msgspec.Struct):
    name: str
    items: list[_Item]
    calls_per_question: float = 1


def is_motet(seen: Look) -> bool:
    """Whether a document has entries with items."""
    entries = mapping(seen.document).get("entries")
    return isinstance(entries, list) and bool(entries) and {"name", "items"} <= mapping(entries[0]).keys()


def motet_run(looks: Sequence[Look]) -> Draft:
    """Read a results file.

    Raises:
        UsageError: it is not one, or an entry or an item comes twice.
    """
    path = looks[0].path
    try:
        entries = msgspec.convert(mapping(looks[0].document).get("entries"), list[_Entry])
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error} in `entries`; is it a results file of motet bench?") from error
    records = Records()
    for entry in entries:
        for item in entry.items:
            try:
                records.add(
                    f"entry {entry.name!r}",
                    item.id,
                    entry.name,
                    Outcome(
                        NAN if item.right is None else float(item.right),
                        item.answer,
                        NAN if item.usd is None else item.usd,
                        NAN if item.tokens is None else item.tokens,
                        NAN if item.seconds is None else item.seconds,
                    ),
                )
                records.fact("topics", item.id, item.topic)
            except ValueError as error:
                raise UsageError(f"{path}: {error}") from error
    several = [entry.name for entry in entries if entry.calls_per_question > 1]
    if several:
        records.notes.append(
            f"every entry is taken as an agent; {len(several)} make more than one call a question, and may be mixtures "
            f"of the others: {listed(several)}"
        )
    draft = records.draft(path)
    draft.loose = True
    return draft
