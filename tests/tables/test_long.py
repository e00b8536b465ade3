"""Long tables: one row an outcome."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import UsageError
from motet.measure.arrays import NONE
from motet.tables.read import read


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


FULL = """item_id,Model,correct,answer,gold,usd,prompt_tokens,completion_tokens,latency_s,confidence,topic,family,notes
q1,a,1,Paris,Paris,0.5,10,5,1.5,0.9,geo,A,x
q1,b,0,,Paris,0.25,7,1,0.5,,geo,B,y
q2,b,1,4,4,,,,,0.1,math,B,z
"""


def test_every_column(tmp_path: Path) -> None:
    """All that a long table may say is read; a pair without a row is missing, an empty answer is no answer."""
    table = read(put(tmp_path / "t.csv", FULL))
    assert (table.format, table.items, table.agents) == ("long", ("q1", "q2"), ("a", "b"))
    assert np.isnan(table.correct[1, 0])
    assert table.correct[0].tolist() == [1, 0]
    assert table.answers is not None
    assert table.answers.tolist()[0] == [0, NONE]
    assert table.gold is not None
    assert table.gold.tolist() == [0, 1]
    assert table.cost is not None
    assert table.cost[0].tolist() == [0.5, 0.25]
    assert table.tokens is not None
    assert table.tokens[0].tolist() == [15, 8]
    assert table.seconds is not None
    assert table.seconds[0, 0] == 1.5
    assert table.confidence is not None
    assert table.confidence[1, 1] == 0.1
    assert (table.topics, table.families) == (("geo", "math"), ("A", "B"))
    assert table.samples is None
    assert "columns not used: notes" in table.notes


def test_samples_are_averaged_and_kept(tmp_path: Path) -> None:
    """Numbered repeats become the mean, the number of draws, and the draws themselves, in the order of the numbers."""
    table = read(
        put(
            tmp_path / "t.jsonl",
            "\n".join(
                [
                    '{"item": "q1", "agent": "a", "run": 10, "correct": 0, "answer": "x", "cost": 3}',
                    '{"item": "q1", "agent": "a", "run": 9, "correct": 1, "answer": "y", "cost": 1}',
                    '{"item": "q1", "agent": "b", "run": 1, "correct": 1, "answer": "y"}',
                    '{"item": "q2", "agent": "a", "run": 1, "correct": null, "answer": "y"}',
                    '{"item": "q2", "agent": "b", "run": 1, "correct": 1, "answer": "x"}',
                ]
            ),
        )
    )
    assert table.correct[0].tolist() == [0.5, 1]
    assert table.samples is not None
    assert table.samples.tolist() == [[2, 1], [0, 1]]
    assert table.draws is not None
    assert table.draws.correct[0, 0].tolist() == [1, 0]
    assert [table.answer_texts[code] for code in table.draws.answers[0, 0]] == ["y", "x"]
    assert np.isnan(table.draws.correct[0, 1, 1])
    assert table.draws.answers[0, 1, 1] == NONE
    assert table.answers is not None
    assert table.answer_texts[table.answers[0, 0]] == "y"
    assert table.cost is not None
    assert table.cost[0, 0] == 2


def test_answers_are_judged_draw_by_draw(tmp_path: Path) -> None:
    """Without a column `correct`, each sample is compared with the right answer; no answer is wrong, and said so."""
    rows = ["q1,a,1,4.0,4", "q1,a,2,5,4", "q1,b,1,,4", "q1,b,2,4,4", "q2,a,1,no,Yes", "q2,b,1,yes,Yes"]
    table = read(put(tmp_path / "t.csv", "item,agent,sample,answer,gold\n" + "\n".join(rows)))
    assert table.correct.tolist() == [[0.5, 0.5], [0, 1]]
    assert table.samples is not None
    assert table.samples.tolist() == [[2, 2], [1, 1]]
    assert "1 cells without an answer count as wrong" in table.notes


def test_gold_beside_a_long_table(tmp_path: Path) -> None:
    """--gold gives the right answers of a long table too."""
    table = read(
        put(tmp_path / "t.csv", "item,agent,answer\nq1,a,x\nq1,b,y\nq2,a,x\nq2,b,y\n"),
        gold=put(tmp_path / "g.csv", "item,gold\nq1,x\nq2,y\n"),
    )
    assert table.correct.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,agent,correct\nq1,a,1\nq1,a,0\n", "t.csv:3: 'a' on 'q1' again, first on line 2; if they are samples"),
        ("item,agent,correct,run\nq1,a,1,1\nq1,a,0,1\n", "t.csv:3: sample '1' of 'a' on 'q1' again"),
        ("item,agent,correct\nq1,a,2\nq2,b,1\n", "t.csv:2: correct: 2 is not between 0 and 1"),
        ("item,agent,correct,cost\nq1,a,1,x\nq2,b,1,1\n", "t.csv:2: cost: 'x' is no number"),
        ("item,agent,correct\nq1,,1\nq2,b,1\n", "t.csv:2: no agent"),
        ("item,agent,answer\nq1,a,x\nq1,b,x\nq2,a,x\nq2,b,y\n", "answers without right ones"),
        (
            "item,agent,answer,gold\nq1,a,x,x\nq1,b,x,y\n",
            "t.csv:3: the right answer of 'q1' is 'y' here and 'x' before",
        ),
        ("item,agent,correct,correct\nq1,a,1,1\nq2,b,1,1\n", "two columns are called 'correct'"),
        ("item,agent,correct\nq1,a,1\nq2,a,1\n", "one agent cannot be mixed"),
        ("item,agent,correct\nq1,a,\nq2,b,\n", "without results"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, says: str) -> None:
    """Each mistake is answered by one line with its place."""
    with pytest.raises(UsageError) as caught:
        read(put(tmp_path / "t.csv", text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), st.floats(0, 1), min_size=4, max_size=40
    ),
    st.randoms(use_true_random=False),
)
def test_round_trip(tmp_path: Path, outcomes: dict[tuple[int, int, int], float], random: object) -> None:
    """Outcomes in any order of rows come back as the same means and the same numbers of samples."""
    rows = list(outcomes.items())
    random.shuffle(rows)  # type: ignore[attr-defined]
    lines = [f"i{item},a{agent},{sample},{value!r}" for (item, agent, sample), value in rows]
    items, agents = {key[0] for key in outcomes}, {key[1] for key in outcomes}
    if len(items) < 2 or len(agents) < 2:
        return
    table = read(put(tmp_path / "t.csv", "item,agent,trial,correct\n" + "\n".join(lines)))
    assert set(table.items) == {f"i{item}" for item in items}
    for row, item in enumerate(table.items):
        for column, agent in enumerate(table.agents):
            values = [v for key, v in outcomes.items() if (f"i{key[0]}", f"a{key[1]}") == (item, agent)]
            if values:
                assert table.correct[row, column] == pytest.approx(np.mean(values))
            else:
                assert np.isnan(table.correct[row, column])
            if table.samples is not None:
                assert table.samples[row, column] == len(values)
