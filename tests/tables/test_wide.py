"""Wide tables in everything they are written in, and the matrices beside them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import UsageError
from motet.measure.arrays import NONE, UNKNOWN
from motet.tables.read import read

SIMPLE = "item,a,b\nq1,1,0\nq2,0.25,\n"
EXPECTED = [[1.0, 0.0], [0.25, None]]


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def cells(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", SIMPLE.encode()),
        ("t.csv", b"\xef\xbb\xbf" + SIMPLE.encode()),
        ("t.csv", SIMPLE.replace("\n", "\r\n").encode()),
        ("t.csv", SIMPLE.encode() + b",,\n\n"),
        ("t.csv", SIMPLE.replace(",", ";").replace("0.25", "0,25").encode()),
        ("t.tsv", SIMPLE.replace(",", "\t").encode()),
        ("t.csv.gz", gzip.compress(SIMPLE.encode(), mtime=0)),
        ("t.txt", gzip.compress(b"\xef\xbb\xbf" + SIMPLE.encode(), mtime=0)),
        ("t.csv", SIMPLE.replace("1,0", "true,False").replace("2,0.25,", "2, 0.25 ,NA").encode()),
        ("t.csv", SIMPLE.replace("item", "").encode()),
        ("t.csv", b"sep=,\r\n" + SIMPLE.encode()),
        ("t.csv", b"\xef\xbb\xbfsep=;\r\n" + SIMPLE.replace(",", ";").replace("0.25", "0,25").encode()),
        ("t.csv", SIMPLE.replace("\n", ",,\n").encode()),
        ("t.csv", SIMPLE.replace("0.25,", "0.25,#N/A").encode()),
        ("t.jsonl", b'{"item": "q1", "a": 1, "b": false}\n\n{"item": "q2", "a": 0.25, "b": null}\n'),
        ("t.jsonl", b'\xef\xbb\xbf{"item": "q1", "a": true, "b": 0}\n{"item": "q2", "a": 0.25}\n'),
        ("t.json", b'[{"item": "q1", "a": 1, "b": 0},\n {"item": "q2", "a": 0.25}]'),
    ],
)
def test_every_way_to_write_it(tmp_path: Path, name: str, data: bytes) -> None:
    """The same table in commas, semicolons, tabs, JSON, gzip, with a byte-order mark or without: one result."""
    table = read(put(tmp_path / name, data))
    assert (table.format, table.items, table.agents) == ("wide", ("q1", "q2"), ("a", "b"))
    assert cells(table.correct) == EXPECTED
    assert table.missing == 1
    assert any("1 of 4 cells" in note and "missing, not wrong" in note for note in table.notes)


@pytest.mark.parametrize("index", [None, "item"])
def test_parquet(tmp_path: Path, index: str | None) -> None:
    """Parquet is read, with the ids in a column or in the index of the data frame that was written."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"item": ["q1", "q2"], "a": [1.0, 0.25], "b": [0.0, None]})
    path = tmp_path / "t.parquet"
    (frame if index is None else frame.set_index(index)).to_parquet(path)
    table = read(path)
    assert (table.items, table.agents) == (("q1", "q2"), ("a", "b"))
    assert cells(table.correct) == EXPECTED


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed, the error names it."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'motet\[parquet\]'"):
        read(put(tmp_path / "t.parquet", b"PAR1 and so on PAR1"))


def test_damaged_parquet(tmp_path: Path) -> None:
    """A file that only begins like Parquet is refused in one line."""
    with pytest.raises(UsageError, match="not readable as Parquet"):
        read(put(tmp_path / "t.parquet", b"PAR1" + b"x" * 100))


def test_parquet_with_a_time_beyond_all_calendars(tmp_path: Path) -> None:
    """A value that can't be had is a damaged file, and names with line ends in them leave the error one line."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    far = pa.array([1 << 60, 0], pa.timestamp("ms"))
    pq.write_table(pa.table({"item": ["q1", "q2"], "a": far, "b": far}), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="not readable as Parquet"):
        read(tmp_path / "t.parquet")
    pq.write_table(pa.table({"item\nid": ["x", "y"], "a": ["x", "y"]}), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="not a format that is known here") as caught:
        read(tmp_path / "t.parquet")
    assert "\n" not in str(caught.value)


NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name and name not in ("gold", "topic") and not name.startswith("\ufeff")
)
VALUES = st.one_of(st.sampled_from([0.0, 1.0, float("nan")]), st.floats(0, 1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_round_trip(tmp_path: Path, data: st.DataObject) -> None:
    """What is written as CSV or as JSON lines is read back to the last bit, whatever names items and agents have."""
    items = data.draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    agents = data.draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    rows = data.draw(
        st.lists(st.lists(VALUES, min_size=len(agents), max_size=len(agents)), min_size=len(items), max_size=len(items))
    )
    values = np.array(rows)
    known = ~np.isnan(values)
    if known.any(axis=0).sum() < 2 or known.any(axis=1).sum() < 2:
        return
    quoted = [['"' + name.replace('"', '""') + '"' for name in names] for names in (agents, items)]
    lines = ["id," + ",".join(quoted[0])]
    lines += [
        name + "," + ",".join("" if np.isnan(value) else repr(float(value)) for value in row)
        for name, row in zip(quoted[1], values, strict=True)
    ]
    objects = [
        {"__id": name} | {agent: None if np.isnan(v) else float(v) for agent, v in zip(agents, row, strict=True)}
        for name, row in zip(items, values, strict=True)
    ]
    expected = values[np.ix_(known.any(axis=1), known.any(axis=0))]
    for text in ("\n".join(lines), "\n".join(map(json.dumps, objects))):
        table = read(put(tmp_path / "t", text), format="wide")
        np.testing.assert_array_equal(table.correct, expected)
        assert table.items == tuple(name for name, kept in zip(items, known.any(axis=1), strict=True) if kept)
        assert table.agents == tuple(name for name, kept in zip(agents, known.any(axis=0), strict=True) if kept)


def test_answers_with_gold_are_judged(tmp_path: Path) -> None:
    """With the right answers, cells are answers: equal after normalising is right, empty is missing."""
    table = read(
        put(tmp_path / "a.csv", "item,a,b,c\nq1,42,$42.00,41\nq2,Paris,,paris\n"),
        gold=put(tmp_path / "g.csv", "item,answer\nq2,Paris\nq1,42\nq3,other\n"),
    )
    assert cells(table.correct) == [[1.0, 1.0, 0.0], [1.0, None, 1.0]]
    assert table.answers is not None
    assert table.gold is not None
    assert table.answers[0, 0] == table.answers[0, 1] == table.gold[0]
    assert table.answers[1, 1] == NONE
    assert table.answer_texts[table.answers[0, 2]] == "41"
    assert any("2 of 4 right answers are written differently" in note for note in table.notes)


def test_gold_column(tmp_path: Path) -> None:
    """The right answers may stand in the table, and topics too."""
    table = read(put(tmp_path / "a.csv", "item,topic,gold,a,b\nq1,x,B,B,C\nq2,y,D,A,A\n"))
    assert cells(table.correct) == [[1.0, 0.0], [0.0, 0.0]]
    assert table.topics == ("x", "y")
    assert table.gold is not None
    assert table.gold.tolist() == [0, UNKNOWN]


def test_sides_are_matched_by_name(tmp_path: Path) -> None:
    """Matrices beside the table are put in its order, whatever order they are in."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"),
        answers=put(tmp_path / "a.csv", "item,b,a\nq2,X,\nq1,Y,X\n"),
        gold=put(tmp_path / "g.csv", "item,text,gold\nq1,long text,X\nq2,more,X\n"),
        cost=put(tmp_path / "c.tsv", "item\tb\ta\tz\nq2\t3\t\t9\nq1\t2\t1\t9\n"),
        tokens=put(tmp_path / "t.csv.gz", gzip.compress(b"item,a,b\nq1,10,20\nq2,30,40\n")),
        latency=put(tmp_path / "l.csv", "item,a,b\nq1,1e-1,2\nq2,3,4\n"),
        samples=5,
        groups=put(tmp_path / "f.csv", "agent,family\nb,B\na,A\n"),
    )
    assert table.answers is not None
    assert table.answers.tolist() == [[0, 1], [NONE, 0]]
    assert table.gold is not None
    assert table.gold.tolist() == [0, 0]
    assert table.cost is not None
    assert cells(table.cost) == [[1, 2], [None, 3]]
    assert table.tokens is not None
    assert table.tokens.tolist() == [[10, 20], [30, 40]]
    assert table.seconds is not None
    assert table.seconds[0, 0] == 0.1
    assert table.samples is not None
    assert (table.samples == 5).all()
    assert table.families == ("A", "B")
    assert any("agents that the table does not have are not used: 'z'" in note for note in table.notes)


def test_recorded_correctness_wins_over_the_answers(tmp_path: Path) -> None:
    """Where both are given and differ, the record counts and a note says in how many cells."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"),
        answers=put(tmp_path / "a.csv", "item,a,b\nq1,X,X\nq2,Y,X\n"),
        gold=put(tmp_path / "g.csv", "item,gold\nq1,X\nq2,X\n"),
    )
    assert cells(table.correct) == [[1, 0], [0, 1]]
    assert any("1 of 4 recorded results differ" in note for note in table.notes)


def test_an_empty_answer_that_is_right(tmp_path: Path) -> None:
    """Where the record calls an empty answer right, nothing is the answer there; elsewhere it is no answer."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"),
        answers=put(tmp_path / "a.csv", "item,a,b\nq1,,X\nq2,,Y\n"),
        gold=put(tmp_path / "g.csv", 'item,gold\nq1,""\nq2,Y\n'),
    )
    assert table.answers is not None
    assert table.gold is not None
    assert table.answer_texts[table.answers[0, 0]] == ""
    assert table.gold[0] == table.answers[0, 0]
    assert table.answers[1, 0] == NONE
    assert any("1 empty answers are right" in note for note in table.notes)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ("q1,,,\nq2,,,\nq3,,,\n", "the answers are all empty, and are not used"),
        ("q1,,,\nq2,x,,\nq3,,,\n", "answers are not used: 4 of 4 right cells have an empty one"),
        ("q1,x,,\nq2,y,x,\nq3,x,y,\n", "answers are not used: 1 of 4 right cells have an empty one"),
    ],
    ids=["none written down", "next to none", "not those of one agent"],
)
def test_answers_that_were_not_written_down_are_no_answers(tmp_path: Path, answers: str, says: str) -> None:
    """Empty cells of right agents that others' cells contradict are gaps: a vote on them would be right too often."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b,c\nq1,1,0,1\nq2,0,1,0\nq3,0,0,1\n"),
        answers=put(tmp_path / "a.csv", "item,a,b,c\n" + answers),
    )
    assert table.answers is None
    assert table.gold is None
    assert any(says in note for note in table.notes), table.notes


def test_space_may_make_an_answer_wrong(tmp_path: Path) -> None:
    """Where correctness is recorded, answers that differ in space alone stay two answers."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"),
        answers=put(tmp_path / "a.csv", "item,a,b\nq1,X, X\nq2,  X,X\n"),
        gold=put(tmp_path / "g.csv", "item,gold\nq1,X\nq2,X\n"),
    )
    assert table.answers is not None
    assert table.gold is not None
    assert ((table.answers == table.gold[:, None]) == (table.correct == 1)).all()


def test_answers_without_gold_but_with_results(tmp_path: Path) -> None:
    """The right answer is taken from the cells that are right, and that is said."""
    table = read(
        put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,0\n"),
        answers=put(tmp_path / "a.csv", "item,a,b\nq1,X,Y\nq2,Y,X\n"),
    )
    assert table.gold is not None
    assert table.gold.tolist() == [0, UNKNOWN]
    assert "right answers are not given: taken from the cells that are right" in table.notes


def test_agents_and_items_without_results_are_left_out(tmp_path: Path) -> None:
    """An empty column or row is no agent that failed everything: it goes, with a note."""
    table = read(put(tmp_path / "t.csv", "item,a,b,never\nq1,1,0,\nq2,0,1,\nq3,,,\n"))
    assert (table.agents, table.items) == (("a", "b"), ("q1", "q2"))
    assert any(note.startswith("1 agents left out") and "'never'" in note for note in table.notes)
    assert any(note.startswith("1 items left out") and "'q3'" in note for note in table.notes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,a,b\nq1,1,0\nq2,1\n", "t.csv:3: 2 columns where the header has 3"),
        ("item,a,b\nq1,1,0\nq2,1,0,1\n", "t.csv:3: 4 columns where the header has 3"),
        ("item,a,b\nq1,1,0\nq1,1,0\n", "t.csv:3: 'q1' again, first on line 2"),
        ("item,a,b\nq1,1,0\n,1,0\n", "t.csv:3: no item id"),
        ("item,a,a\nq1,1,0\nq2,1,0\n", "columns 2 and 3 are both called 'a'"),
        ("item,a,\nq1,1,0\nq2,1,0\n", "column 3 has no name"),
        ("item,a,b\nq1,1,85\nq2,1,0\n", "agent 'b': 85 is not between 0 and 1, as correctness is: if these are perc"),
        ("item,a,b\nq1,1,85%\nq2,1,0\n", "'85%' is a percentage: divide by 100"),
        ("item,a,b\nq1,1,-0.5\nq2,1,0\n", "-0.5 is not between 0 and 1"),
        ("item,a,b\nq1,1,inf\nq2,1,0\n", "'inf' is no correctness"),
        ("item,a,b\nq1,A,B\nq2,C,D\n", "t.csv:2: agent 'a': 'A' is no correctness"),
        ("item,a,b\nq1,A,B\nq2,C,D\n", "give the right ones with --gold"),
        ("item,a\nq1,1\nq2,0\n", "one agent cannot be mixed"),
        ("item,a,b\nq1,1,0\n", "at least two items"),
        ("item,a,b\n", "no items"),
        ("item,a,b\nq1,,\nq2,,\n", "all of them are empty"),
        ("item,a,b\nq1,1,\nq2,0,\n", "only 'a' has results, the columns of the others are empty"),
        ('{"item": "q1", "a": 1, "b": 85}\n{"item": "q2", "a": 1, "b": 1}', "85 is not between 0 and 1"),
        ("item\nq1\nq2\n", "no agents"),
        ('item,a,b\nq1,"1,0\nq2,1,0\n', "see that quotes are closed"),
        ("item,a,b\nq1,1,0\nq2,1," + "9" * 200_000, "field larger than field limit"),
        ("item,gold,a,b\nq1,B,1,0\nq2,C,0,1\n", "right answers are like 'B'"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, says: str) -> None:
    """Each mistake is answered by one line that says where it is and what to do."""
    with pytest.raises(UsageError) as caught:
        read(put(tmp_path / "t.csv", text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,a,b,\nq1,1,0,\nq2,1,0,7\n", "t.csv:3: column 4 has no name"),
        ("item,,b\nq1,1,0\n", "column 2 has no name"),
        ("sep=;\n", "an empty file"),
        ("sep=;\nitem,a,b\nq1,1,0\n", "one column"),
    ],
)
def test_columns_without_names(tmp_path: Path, text: str, says: str) -> None:
    """Only empty ones at the right end are passed over; a line that tells the separator is no header."""
    with pytest.raises(UsageError, match=r"t\.csv") as caught:
        read(put(tmp_path / "t.csv", text))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("side", "text", "says"),
    [
        ("cost", "item,a,b\nq1,1,1\n", "lacks 1 of the table's 2 items, the first is 'q2'"),
        ("cost", "item,a\nq1,1\nq2,1\n", "lacks 1 of the table's 2 agents, the first is 'b'"),
        ("cost", "item,a,b\nq1,1,-1\nq2,1,1\n", "c.csv:2: agent 'b': '-1' is negative"),
        ("tokens", "item,a,b\nq1,1,many\nq2,1,1\n", "'many' is no number"),
        ("tokens", 'item,a,b\nq1,1,"1,234"\nq2,1,1\n', "'1,234' is no number"),
        ("samples", "item,a,b\nq1,1,1.5\nq2,1,1\n", "'1.5' is no whole number"),
        ("groups", "agent,family\na,A\n", "1 of 2 agents have no family, the first is 'b'"),
        ("groups", "agent,family\na,A\na,B\n", "'a' again"),
        ("gold", "item,gold\nq1,1\n", "1 of 2 items have no right answer"),
        ("gold", "item,one,two\nq1,1,2\n", "two columns are needed"),
        ("gold", "item,gold\nq1,Paris\nq2,Rome\n", "its cells are 0 and 1"),
    ],
)
def test_bad_sides(tmp_path: Path, side: str, text: str, says: str) -> None:
    """A matrix beside the table that does not fit it is refused: how many, which first."""
    table = put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n")
    with pytest.raises(UsageError) as caught:
        read(table, **{side: put(tmp_path / "c.csv", text)})  # type: ignore[arg-type]
    assert says in str(caught.value)
