"""Items in a page: what is kept of them, and how they are searched, filtered and opened in a real browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, browser, needs_browser

from motet.errors import UsageError
from motet.page.items import Answer, Ask, Item, Items, packed
from motet.page.page import Section, Words, page

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!-- &amp; \x00 \u2028 \u2029 "
    "\ud800 \u202e desrever \u2066 ${window.hacked = 1} \u05d0\u05d1 \U0001f469\u200d\U0001f52c"
)
VISIBLE = HOSTILE.translate(dict.fromkeys((0, 0xD800, 0x202E, 0x2066), "\ufffd"))
ROWS = ".items .list > li > details"
STARTS = f"[...document.querySelectorAll('{ROWS} > summary .id')].map(n => n.textContent)"


def asked(number: int, *, right: Sequence[int], tags: Sequence[str] = (), text: str = "") -> Item:
    """An item with three members and a vote of them; the arms in `right` have it right."""
    members = ("ada", "ben", "cy")
    said = [f"{name} thinks that item {number} is {'so' if k in right else 'not so'}" for k, name in enumerate(members)]
    asks = [
        Ask("ada", "ok", said[0], (), 0.5),
        Ask("ben", "ok", said[1], (0,), 0.25, depth=1),
        Ask("cy", "failed", "the server of cy closed the connection", (), 1.0, depth=1),
        Ask("judge", "ok", f"weighed secretly {number}", (0, 1), 2.0),
    ]
    answers = [
        Answer(name, said[k], float(k in right), "ok", usd=0.001, calls=1, seconds=1.0)
        for k, name in enumerate(members)
    ]
    answers.append(Answer("vote", said[0], float(3 in right), "ok", usd=0.003, calls=4, seconds=2.0, asks=asks))
    return Item(f"q{number}", ("sums", "law")[number % 2], f"What is {number} of?\n  {text}", "so", answers, tags)


FEW = [
    asked(1, right=(0, 1, 2, 3), tags=["all right"], text="harbour"),
    asked(2, right=(), tags=["all wrong"], text="Lantern"),
    asked(3, right=(0, 1), tags=["members disagree", "vote harmed"], text="harbour lantern"),
    asked(10, right=(1, 3), tags=["members disagree", "vote helped"], text="x+y (z)?"),
    replace(
        asked(4, right=()),
        answers=[
            Answer("ada", "", None, "failed", note="timeout after 60 s"),
            Answer("ben", "no idea", 0.0, "abstained"),
            Answer("cy", "half", 0.4, "ok"),
            Answer("vote", "prose", None, "ok"),
        ],
    ),
]


@dataclass
class Shown:
    """A page of items in the browser."""

    tab: Tab

    async def until(self, script: str) -> None:
        """Wait until an expression in the page holds; half a minute at most."""
        held = await self.tab.run(
            f"(async () => {{ for (let i = 0; i < 1500 && !({script}); i++) await new Promise(r => setTimeout(r, 20));"
            f" return Boolean({script}); }})()"
        )
        assert held, f"never: {script}"

    async def ids(self) -> list[str]:
        """The ids in the list."""
        found: list[str] = await self.tab.run(STARTS)
        return found

    async def count(self) -> str:
        """How many items are said to be shown."""
        return str(await self.tab.run("document.querySelector('.items .count [role=status]').textContent"))

    async def type(self, text: str) -> None:
        """Put a text into the search, and wait for what it finds."""
        await self.tab.run(
            "(async text => { const field = document.querySelector('.items input[type=search]'); field.value = text;"
            "field.dispatchEvent(new Event('input')); await new Promise(r => setTimeout(r, 250)); })"
            f"({json.dumps(text)})"
        )

    async def choose(self, label: str, value: str) -> None:
        """Choose what stands in a list of choices."""
        await self.tab.run(
            "((label, value) => { const select = [...document.querySelectorAll('.items label')]"
            ".find(n => n.firstChild.textContent === label).querySelector('select');"
            "select.value = [...select.options].find(n => n.textContent === value).value;"
            f"select.onchange(); }})({json.dumps(label)}, {json.dumps(value)})"
        )

    async def press(self, key: str, text: str = "") -> None:
        """Press a key, as a person does."""
        code = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
        typed = {"text": text} if text else {}
        await self.tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **typed)
        await self.tab.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    async def focused(self) -> str:
        """The id of the item in whose line the focus is."""
        return str(await self.tab.run("document.activeElement.querySelector('.id')?.textContent"))


@asynccontextmanager
async def opened(
    folder: Path, items: Sequence[Item], *, width: int = 1280, more: Sequence[Items] = (), **rest: Any
) -> AsyncIterator[Shown]:
    """A page of these items, unpacked."""
    path = folder / "items.html"
    path.write_text(page("t", [Section("s", [Items("all", items, **rest), *more])]), encoding="utf-8")
    async with browser() as tab:
        shown = Shown(tab)
        await tab.open(path, width)
        await shown.until("document.querySelector('.items .list > li')")
        yield shown
        assert tab.complaints == []


def unpacked(text: str) -> dict[str, Any]:
    """What a page carries."""
    made: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return made


def test_every_text_is_kept_once() -> None:
    """A reply that many mixtures were given is stored once, and everything can be put together again."""
    held = unpacked(packed([Items("a", FEW), Items("b", FEW)]))
    assert len(set(held["texts"])) == len(held["texts"])
    assert held["blocks"]["a"] == held["blocks"]["b"]
    vote = held["blocks"]["a"][0][5][3]
    assert [held["texts"][vote[k]] for k in (0, 1, 3)] == ["vote", "ada thinks that item 1 is so", "ok"]
    assert vote[8][0][2] == held["blocks"]["a"][0][5][0][1]
    assert [[held["texts"][ask[0]], ask[3], ask[5]] for ask in vote[8]] == [
        ["ada", [], 0],
        ["ben", [0], 1],
        ["cy", [], 1],
        ["judge", [0, 1], 0],
    ]


def test_packed_is_the_same_again_and_small() -> None:
    """The same items give the same text; what two hundred mixtures share takes no more room."""
    replies = [" ".join(f"w{(k * 7919 + place * 104729) % 9973}" for k in range(100)) for place in range(6)]
    asks = [Ask(f"m{k}", "ok", text) for k, text in enumerate(replies)]
    once = Item("q", "t", "?", "!", [Answer("arm", "!", 1.0, "ok", asks=asks)])
    many = [replace(once, answers=[Answer(f"arm {k}", "!", 1.0, "ok", asks=asks) for k in range(8)])] * 25
    assert packed([Items("a", many)]) == packed([Items("a", many)])
    assert len(packed([Items("a", many)])) < 1.5 * len(packed([Items("a", [once])]))


def test_hostile_texts_are_not_in_the_source() -> None:
    """No text of an item is in the page's source, where it could end a script; control characters are made visible."""
    item = Item(HOSTILE, HOSTILE, HOSTILE, HOSTILE, [Answer(HOSTILE, HOSTILE, 0.5, HOSTILE)], [HOSTILE])
    text = page("t", [Section("s", [Items(HOSTILE, [item], about=HOSTILE)])])
    assert "<script>window.hacked" not in text
    coded = re.search(r'id="items">([^<]*)<', text)
    assert coded is not None
    assert set(unpacked(coded[1])["texts"]) == {"", VISIBLE}
    assert text.encode()


def test_a_page_without_items_has_none_of_their_code() -> None:
    """Neither script nor style nor data."""
    bare = page("t", [Section("s", [Words("w")])])
    assert "DecompressionStream" not in bare
    assert ".items" not in bare
    assert "DecompressionStream" in page("t", [Section("s", [Items("a", FEW)])])


def test_wrong_lists_are_refused() -> None:
    """An ask that heard one that is not there, and two blocks with one name."""
    wrong = [Answer("vote", "x", 1.0, "ok", asks=[Ask("judge", "ok", "x", heard=[1])])]
    with pytest.raises(UsageError, match=r"item 'q', arm 'vote': ask 0 \(judge\) heard ask 1, but there are 1 asks"):
        packed([Items("a", [Item("q", "", "?", "!", wrong)])])
    with pytest.raises(UsageError, match="named 'a'"):
        packed([Items("a", []), Items("a", [])])


def test_what_is_left_out_is_said() -> None:
    """How many items the page does not hold, and that it takes scripts."""
    text = page("t", [Section("s", [Items("a", FEW, left_out=1800)])])
    assert "1,800 more items are not in this page." in text
    assert "<noscript>" in text
    assert "1 more item is not in this page." in page("t", [Section("s", [Items("a", FEW, left_out=1)])])
    assert "not in this page" not in page("t", [Section("s", [Items("a", FEW)])])


@needs_browser
async def test_search_filters_and_order(tmp_path: Path) -> None:
    """All words must match, in any case; topic, tags and arms narrow further; what is shown is counted."""
    async with opened(tmp_path, FEW) as shown:
        assert await shown.ids() == ["q1", "q2", "q3", "q10", "q4"]
        assert await shown.count() == "5 items"
        for words, found in (
            ("LANTERN", ["q2", "q3"]),
            ("lantern harb", ["q3"]),
            ("x+y (z)?", ["q10"]),
            ("ada 10 so", ["q10"]),
            ("timeout", ["q4"]),
            ("secretly", []),
        ):
            await shown.type(words)
            assert await shown.ids() == found, words
        assert await shown.count() == "0 of 5 items"
        await shown.tab.run("document.querySelector('.items .check input').click()")
        assert await shown.ids() == ["q1", "q2", "q3", "q10"]
        await shown.tab.run("document.querySelector('.items .count button').click()")
        assert await shown.count() == "5 items"

        await shown.choose("topic", "law (2)")
        assert await shown.ids() == ["q1", "q3"]
        await shown.choose("topic", "all (5)")
        await shown.choose("right", "ada")
        await shown.choose("not right", "vote")
        assert await shown.ids() == ["q3"]
        await shown.choose("right", "any arm")
        assert await shown.ids() == ["q2", "q3"]  # q4's vote is not graded, which is neither
        await shown.choose("not right", "any arm")

        chips = "[...document.querySelectorAll('.items .chip')].map(n => n.textContent)"
        assert (await shown.tab.run(chips))[0] == "members disagree 2"
        await shown.tab.run("document.querySelectorAll('.items .chip')[0].click()")
        assert await shown.ids() == ["q3", "q10"]
        assert sorted((await shown.tab.run(chips))[1:]) == [
            "all right 0",
            "all wrong 0",
            "vote harmed 1",
            "vote helped 1",
        ]
        await shown.tab.run(
            "[...document.querySelectorAll('.items .chip')].find(n => /harmed/.test(n.textContent)).click()"
        )
        assert await shown.ids() == ["q3"]
        await shown.tab.run("document.querySelector('.items .count button').click()")

        await shown.choose("order", "id")
        assert await shown.ids() == ["q1", "q2", "q3", "q4", "q10"]
        await shown.choose("order", "most disagreement")
        assert (await shown.ids())[:2] == ["q3", "q10"]


@needs_browser
async def test_an_item_opens_with_all_that_happened(tmp_path: Path) -> None:
    """The whole question, every answer with its mark, and the asks inside, where "heard" leads to who was heard."""
    async with opened(tmp_path, FEW) as shown:
        assert await shown.tab.run(f"document.querySelectorAll('{ROWS} .body').length") == 0
        marks = "[...document.querySelectorAll('.items .list > li:nth-child(5) .strip .mark')].map(n => n.textContent)"
        assert await shown.tab.run(marks) == ["!", "–", "~", "?"]
        label = "document.querySelector('.items .list > li:nth-child(5) .strip').getAttribute('aria-label')"
        assert await shown.tab.run(label) == "ada: failed, ben: abstained, cy: partly right, vote: not graded"

        await shown.tab.run(f"document.querySelectorAll('{ROWS} > summary')[2].click()")
        await shown.until(f"document.querySelector('{ROWS} .body')")
        assert await shown.tab.run(f"document.querySelector('{ROWS} .body .prose').textContent") == FEW[2].question
        rows = await shown.tab.run(f"[...document.querySelectorAll('{ROWS} tbody tr')].map(n => n.innerText)")
        assert [row.split()[0] for row in rows] == ["✓ada", "✓ben", "×cy", "×vote"]
        assert "4 calls" in rows[3]
        assert "0.003 USD" in rows[3]

        await shown.tab.run("document.querySelector('.items .inside summary').click()")
        await shown.until("document.querySelector('.items .asks')")
        heads = "[...document.querySelectorAll('.items .asks .head')].map(n => n.innerText.split(/\\s+/).join(' '))"
        assert await shown.tab.run(heads) == [
            "1 ada ok 0.5 s",
            "2 ben ok 0.25 s heard: 1 ada",
            "3 cy failed 1 s",
            "4 judge ok 2 s heard: 1 ada, 2 ben",
        ]
        left = "[...document.querySelectorAll('.items .asks > li')].map(n => n.getBoundingClientRect().left)"
        outer, inner, *_ = await shown.tab.run(left)
        assert inner > outer
        await shown.tab.run("[...document.querySelectorAll('.items .link')].at(-1).click()")
        lit = "[...document.querySelectorAll('.items .asks > li.lit strong')].map(n => n.textContent)"
        assert await shown.tab.run(lit) == ["ben"]


@needs_browser
async def test_an_address_opens_its_item(tmp_path: Path) -> None:
    """`#item=ID` opens it wherever it is, also past a filter, at the start and later."""
    items = [replace(asked(k, right=(0,)), id=f"a/b c%{k}") for k in range(120)]
    items[7] = replace(items[7], id="50%")
    async with opened(tmp_path, items) as shown:
        await shown.type("nothing has this")
        assert await shown.ids() == []
        await shown.tab.run("location.hash = '#item=' + encodeURIComponent('a/b c%110')")
        await shown.until(f"document.querySelector('{ROWS}[open] .id')?.textContent === 'a/b c%110'")
        assert await shown.focused() == "a/b c%110"
        assert len(await shown.ids()) == 20
        link = await shown.tab.run(f"document.querySelector('{ROWS}[open] a').href")
        assert link.endswith("#item=a%2Fb%20c%25110")
        await shown.tab.run("location.reload()")
        await shown.until(f"document.querySelector('{ROWS}[open] .id')?.textContent === 'a/b c%110'")
        await shown.tab.run("location.hash = '#item=50%'")  # by hand, not encoded
        await shown.until(f"document.querySelector('{ROWS}[open] .id')?.textContent === '50%'")


@needs_browser
async def test_keyboard(tmp_path: Path) -> None:
    """`/` searches, arrows and j and k move over the ends of pages, Enter opens; in the field they are letters."""
    async with opened(tmp_path, [asked(k, right=(0,)) for k in range(60)]) as shown:
        await shown.press("/", "/")
        assert await shown.tab.run("document.activeElement.type") == "search"
        await shown.press("j", "j")
        assert await shown.tab.run("document.activeElement.value") == "j"
        await shown.type("")
        await shown.press("Enter", "\r")
        assert await shown.focused() == "q0"
        await shown.press("j", "j")
        await shown.press("ArrowDown")
        assert await shown.focused() == "q2"
        await shown.press("k", "k")
        assert await shown.focused() == "q1"
        await shown.press("Enter", "\r")
        await shown.until(f"document.querySelector('{ROWS}[open] .id')?.textContent === 'q1'")
        await shown.press("ArrowUp")
        await shown.press("ArrowUp")  # past the beginning: it stays
        assert await shown.focused() == "q0"
        await shown.tab.run(f"[...document.querySelectorAll('{ROWS} > summary')].at(-1).focus()")
        assert await shown.focused() == "q49"
        await shown.press("j", "j")
        assert await shown.focused() == "q50"
        await shown.press("k", "k")
        assert await shown.focused() == "q49"


@needs_browser
@pytest.mark.parametrize("width", [1280, 400])
async def test_hostile_texts_do_no_harm(tmp_path: Path, width: int) -> None:
    """Markup stays text, endless lines stay in the window, at both widths, opened, unfolded and found."""
    endless = HOSTILE + "w" * 200_000 + "needle" + "w" * 2_000
    asks = [Ask(HOSTILE, HOSTILE, endless, (0,), 1.0, depth=k * 9) for k in range(3)]
    answers = [
        Answer(f"{HOSTILE} {k}", endless, (None, 0.5, 1.0)[k % 3], HOSTILE, HOSTILE, 1e9, 10**6, 1e6, asks)
        for k in range(30)
    ]
    tags = [HOSTILE, "w" * 300]
    items = [Item(HOSTILE, HOSTILE, endless, endless, answers, tags), Item("w" * 500, "", "", "", [])]
    async with opened(tmp_path, items, width=width, more=[Items("none", [])], about=HOSTILE) as shown:
        await shown.tab.run(f"document.querySelector('{ROWS} > summary').click()")
        await shown.until(f"document.querySelector('{ROWS} .body')")
        await shown.tab.run("document.querySelector('.items .inside summary').click()")
        await shown.until("document.querySelector('.items .asks')")
        assert await shown.tab.run("document.querySelector('.items .prose').textContent.length") < 1_000
        await shown.tab.run("document.querySelector('.items .more[aria-expanded]').click()")
        whole = await shown.tab.run("document.querySelector('.items .prose').textContent")
        assert whole == VISIBLE + endless.removeprefix(HOSTILE)
        assert await shown.tab.cut_off() == []
        assert await shown.tab.run("document.documentElement.scrollWidth") == width
        await shown.type("NEEDLE </script>")
        assert await shown.count() == "1 of 2 items"
        await shown.tab.run("location.hash = '#item=' + encodeURIComponent(document.querySelector('.items .id').title)")
        assert await shown.tab.run("window.hacked ?? 0") == 0
        assert await shown.tab.run("document.querySelectorAll('.items img, .items script').length") == 0
        assert "There are no items." in await shown.tab.run("document.querySelectorAll('.items')[1].innerText")


@needs_browser
async def test_two_thousand_items_stay_fluid(tmp_path: Path) -> None:
    """Only a page of them is in the document; the search answers, and turning the page goes through all."""
    names = [f"arm {k}" for k in range(10)]
    items = [
        Item(
            f"q{k}",
            "t",
            f"question {k} " + "of many words " * 10,
            "so",
            [Answer(name, f"{name} says {k * 31 % 997} " * 12, float(k % 3 == 0), "ok") for name in names],
        )
        for k in range(2_000)
    ]
    async with opened(tmp_path, items, left_out=7) as shown:
        assert await shown.count() == "2,000 items"
        assert len(await shown.ids()) == 50
        await shown.type("question 1234")
        assert "q1234" in await shown.ids()
        await shown.type("question says arm 9")
        assert await shown.count() == "2,000 of 2,000 items"
        await shown.tab.run(
            "for (let i = 0; i < 39; i++) [...document.querySelectorAll('.items .pager button')].at(-1).click()"
        )
        assert (await shown.ids())[-1] == "q1999"
        assert await shown.tab.run("[...document.querySelectorAll('.items .pager button')].at(-1).disabled") is True


@needs_browser
async def test_a_page_that_is_not_whole_says_so(tmp_path: Path) -> None:
    """Where the data can't be unpacked, there is a line that says so instead of nothing."""
    path = tmp_path / "page.html"
    text = page("t", [Section("s", [Items("a", FEW)])])
    path.write_text(re.sub(r'(id="items">.{40})[^<]*', r"\1", text), encoding="utf-8")
    async with browser() as tab:
        await tab.open(path, 1280)
        await Shown(tab).until("document.querySelector('.items .warning:not(noscript *)')")
        said = await tab.run("document.querySelector('.items > .warning').textContent")
        assert said.startswith("The items could not be unpacked")
