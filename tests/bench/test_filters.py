"""Filters do what lm-evaluation-harness does with the same settings."""

from __future__ import annotations

import pytest

from motet.bench.filters import Filter, filtered
from motet.errors import UsageError


@pytest.mark.parametrize(
    ("filter", "text", "left"),
    [
        (Filter("regex", {"regex_pattern": r"(-?\d+)", "group_select": -1}), "3 then 42.", "42"),
        (Filter("regex", {"regex_pattern": r"(a)|(b)"}), "xb", "b"),
        (Filter("regex", {"regex_pattern": r"#### (\d+)"}), "none", "[invalid]"),
        (Filter("regex", {"regex_pattern": r"x(\d)", "fallback": "?"}), "none", "?"),
        (Filter("until", {"stops": ["\n\n", "Q:"]}), "4 Q: 5\n\n6", "4 "),
        (Filter("map", {"mapping_dict": {"a": "b"}, "default_value": "-"}), "a", "b"),
        (Filter("map", {"mapping_dict": {"a": "b"}, "default_value": "-"}), "c", "-"),
        (Filter("lowercase"), "AbC", "abc"),
        (Filter("uppercase"), "AbC", "ABC"),
        (Filter("strip"), " a ", "a"),
        (Filter("remove_whitespace"), " a ", "a "),
        (Filter("take_first"), "a", "a"),
    ],
)
def test_one_filter(filter: Filter, text: str, left: str) -> None:
    """Each kind leaves what it should."""
    assert filtered(text, [filter]) == left


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("majority_vote", {}, "no filter 'majority_vote'"),
        ("regex", {"regex_pattern": "("}, "can't work with"),
        ("regex", {"regex_pattern": 3}, "is a text"),
        ("until", {"stops": "x"}, "is a list"),
        ("map", {"mapping_dict": []}, "is a table"),
    ],
)
def test_a_filter_that_makes_no_sense(kind: str, settings: dict[str, object], says: str) -> None:
    """An unknown kind or broken settings are refused when the filter is made."""
    with pytest.raises(UsageError, match=says):
        Filter(kind, settings)
