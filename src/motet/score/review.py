"""Review: what reviewers grade replies, each reply alone and blind, all side by side.

Nobody is given a grade that was not given: a review that can't be read is left out, and noted, so that whoever adds
reviews up can tell a bad grade from none. A `Judge` is one review, and takes none for 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from motet.ballot import read_grade
from motet.form import grade_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run

Seat = TypeVar("Seat")


async def reviewed(
    reviews: Mapping[Seat, tuple[Agent, Reply]],
    chat: Chat,
    run: Run,
    note: str,
    *,
    scale: int = 10,
    reasoned: bool = False,
    grace: float | None = None,
    otherwise: str = "that review counts for nothing",
) -> dict[Seat, float]:
    """The grades that could be read, from 0 to `scale`, under the keys of their reviews.

    Args:
        reviews: who grades which reply; the same pair under several keys is drawn several times.
        chat: what the replies answer.
        run: where this happens.
        note: what reviewers are told; `{scale}` stands for the scale. It should ask for a line "Grade: ...".
        scale: the best grade.
        reasoned: whether who is held to the form of a grade has room for a line before it.
        grace: seconds to wait for the slow once one has answered; None waits for all.
        otherwise: what the note of a missing grade says of it.
    """
    asked = chat.add(Message("user", note.replace("{scale}", str(scale))))  # the question is now to grade
    form = grade_form(scale, reasoned=reasoned)
    asks = {seat: run.ask(reviewer, hear(asked, [reply]).held(form)) for seat, (reviewer, reply) in reviews.items()}
    said = await run.each(asks, need=0, grace=grace)
    grades: dict[Seat, float] = {}
    for seat, (reviewer, _) in reviews.items():
        grade = read_grade(said[seat].text, scale) if seat in said else None
        if grade is None:
            run.note(f"{reviewer.name} gave no grade that could be read; {otherwise}")
        else:
            grades[seat] = grade
    return grades
