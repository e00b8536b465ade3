"""What a table refuses, and what can be done with one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import UsageError
from motet.tables.table import Draws, Table

NAN = float("nan")


def table(correct: object, **more: object) -> Table:
    values = np.array(correct, dtype=float)
    names = {
        "items": tuple(f"q{row}" for row in range(len(values))),
        "agents": tuple("abcdefgh"[: values.shape[1]]),
        "correct": values,
    }
    return Table(**(names | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("correct", "more", "says"),
    [
        ([[1.0], [0.0]], {}, "one agent cannot be mixed"),
        ([[1.0, 0.0]], {}, "at least two items"),
        ([[NAN, NAN], [NAN, NAN]], {}, "no cell holds a result"),
        ([[1.0, 0.0], [1.5, 0.0]], {}, "item 'q1', agent 'a' has 1.5"),
        ([[1.0, 0.0], [-1.0, 0.0]], {}, "between 0 and 1"),
        ([[1, 0], [1, 0]], {"items": ("q", "q")}, "two items are called 'q'"),
        ([[1, 0], [1, 0]], {"agents": ("a", "a")}, "two agents are called 'a'"),
        ([[1, 0], [1, 0]], {"agents": ("a", " ")}, "agent 2 has no name"),
        ([[1, 0], [1, 0]], {"cost": np.ones((2, 3))}, "`cost` has the shape (2, 3)"),
        ([[1, 0], [1, 0]], {"cost": np.array([[1, -1], [0, 0]])}, "cost is not negative"),
        ([[1, 0], [1, 0]], {"tokens": np.array([[1, np.inf], [0, 0]])}, "finite"),
        ([[1, 0], [1, 0]], {"confidence": np.array([[1, 2.0], [0, 0]])}, "confidence is between 0 and 1"),
        ([[1, 0], [1, 0]], {"gold": np.array([0, 1])}, "`gold` without `answers`"),
        ([[1, 0], [1, 0]], {"answers": np.array([[0, -3], [0, 0]])}, "an answer's number"),
        ([[1, 0], [1, 0]], {"families": ("x",)}, "`families` has the shape"),
        ([[1, 0], [1, 0]], {"draws": Draws(np.zeros((2, 2, 3), int), np.zeros((2, 3, 3)))}, "draws have the shapes"),
    ],
)
def test_refused(correct: object, more: dict[str, object], says: str) -> None:
    """Each kind of nonsense is refused in one line that says which."""
    with pytest.raises(UsageError) as caught:
        table(correct, **more)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_source_leads_the_error() -> None:
    """An error names the file that the table came from."""
    with pytest.raises(UsageError, match=r"^results\.csv: "):
        table([[1.0], [0.0]], source="results.csv")


def test_select_keeps_everything_aligned() -> None:
    """Choosing agents and items, by name or by place, moves every field with them."""
    cells = np.arange(6.0).reshape(3, 2)
    whole = table(
        cells / 10,
        answers=np.arange(6).reshape(3, 2),
        gold=np.array([0, 3, 5]),
        answer_texts=tuple("uvwxyz"),
        cost=cells,
        families=("F", "G"),
        topics=("s", "t", "u"),
        draws=Draws(np.zeros((3, 2, 4), int), np.repeat(cells[:, :, None] / 10, 4, axis=2)),
    )
    part = whole.select(agents=["b", 0], items=[2, "q0"])
    assert part.agents == ("b", "a")
    assert part.items == ("q2", "q0")
    assert part.correct.tolist() == [[0.5, 0.4], [0.1, 0.0]]
    assert part.answers is not None
    assert part.answers.tolist() == [[5, 4], [1, 0]]
    assert part.gold is not None
    assert part.gold.tolist() == [5, 0]
    assert part.cost is not None
    assert part.cost.tolist() == [[5, 4], [1, 0]]
    assert (part.families, part.topics) == (("G", "F"), ("u", "s"))
    assert part.draws is not None
    assert part.draws.correct[:, :, 3].tolist() == [[0.5, 0.4], [0.1, 0.0]]


def test_select_of_no_such_name_offers_the_nearest() -> None:
    """A mistyped agent is answered with the name it may have been."""
    with pytest.raises(UsageError, match="did you mean 'small'"):
        table([[1, 0], [0, 1]], agents=("small", "large")).select(agents=["smal", "large"])


def test_complete_drops_items_and_says_so() -> None:
    """Items with a gap go, and the note counts them; a table without gaps stays as it is."""
    gaps = table([[1, 0], [NAN, 0], [0, 1]])
    whole = gaps.complete()
    assert whole.items == ("q0", "q2")
    assert whole.notes[-1] == "left out 1 of 3 items, which some agent has no result for"
    assert whole.complete() is whole


def test_complete_with_nothing_left_names_the_agent_with_gaps() -> None:
    """Where no complete items are left, the error says which agent to leave out."""
    with pytest.raises(UsageError, match="the most gaps, 'b'"):
        table([[1, NAN], [1, NAN], [1, 0]]).complete()


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, NAN]), min_size=3, max_size=3), min_size=2, max_size=8))
def test_ranking_is_by_accuracy_over_what_is_recorded(rows: list[list[float]]) -> None:
    """Best first, ties in column order, and an agent without any result last."""
    values = np.array(rows)
    if np.isnan(values).all():
        return
    found = table(values)
    means = [np.mean(column[~np.isnan(column)]) if (~np.isnan(column)).any() else -1 for column in values.T]
    assert found.ranking().tolist() == sorted(range(3), key=lambda column: (-means[column], column))
    assert found.best_first().accuracy()[0] == max(means)
