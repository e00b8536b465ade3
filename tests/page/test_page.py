"""Pages: what is in the file, and what is drawn of it in a real browser."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest
from browser import browser, needs_browser

from motet.page.page import Chart, Rows, Rule, Section, Words, page

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"

CHARTS = (
    Chart("lines", "Lines", "", "lines", ("x", "y", "series"), [(k, k / 9, HOSTILE) for k in range(9)], percent=["y"]),
    Chart("band", "A band", "", "lines", ("x", "y", "low", "high"), [(k, k, k - 1, k + 1) for k in range(99)]),
    Chart("rules", "Rules", "", "lines", ("x", "y"), [(0, 0.2), (1, 0.4)], rules=[Rule(0.5, HOSTILE[:20])]),
    Chart("one", "One point", "", "lines", ("x", "y"), [(1, 0.5)]),
    Chart("points", "Points", "", "points", ("x", "y", "label", "series", "joined"), [
        (10.0**k, k / 9, f"agent {k}", "agents" if k % 2 else "bounds", k > 4) for k in range(-3, 7)
    ], logarithmic=True),
    Chart("heat", "Heat", "", "heat", ("x", "y", "value"), [
        (f"{HOSTILE} {a}", f"{HOSTILE} {b}", None if a == b else a * b / 900) for a in range(30) for b in range(30)
    ]),
    Chart("bars", "Bars", "", "bars", ("x", "y"), [(k, k % 7) for k in range(200)]),
)  # fmt: skip


def test_vendored_code_is_as_published() -> None:
    """The files of others have the checksums that their page states."""
    folder = files("motet.page") / "vendor"
    stated = re.findall(r"`(\S+\.js)`.*`([0-9a-f]{64})`", (folder / "README.md").read_text("utf-8"))
    assert len(stated) == 2
    for name, checksum in stated:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == checksum


def test_page_needs_nothing_beside_it() -> None:
    """No address is loaded from: neither script nor style nor picture."""
    text = page("t", [Section("s", CHARTS)])
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", text.replace(HOSTILE, ""))
    assert "@import" not in text
    assert "url(" not in text.split("<script")[0]


def test_page_without_charts_is_small() -> None:
    """Words and tables bring no drawing code along."""
    assert len(page("t", [Section("s", [Words("w"), Rows(["a"], [["1"]])])])) < 10_000


@needs_browser
@pytest.mark.parametrize("width", [1280, 400])
async def test_every_chart_is_drawn_and_nothing_is_cut_off(tmp_path: Path, width: int) -> None:
    """In Chromium, at both widths: no complaint, no script of an agent's name, all within the window."""
    path = tmp_path / "page.html"
    sections = [Section(HOSTILE, [Words(HOSTILE), Rows([HOSTILE, "b"], [[HOSTILE, "1"]]), *CHARTS])]
    path.write_text(page(HOSTILE, sections, footer=HOSTILE), encoding="utf-8")
    async with browser() as tab:
        await tab.open(path, width)
        assert await tab.run("window.hacked ?? 0") == 0
        assert await tab.run("document.querySelectorAll('figure .drawing > svg, figure figure svg').length") >= len(
            CHARTS
        )
        assert await tab.cut_off() == []
        data = await tab.run("fetch(document.querySelector('a.data').href).then(r => r.text())")
        assert data.splitlines()[:2] == ["x,y,series", f"0,0,{HOSTILE}"]
        assert len(data.splitlines()) == 10
        assert tab.complaints == []


@needs_browser
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("logarithmic", [False, True])
async def test_few_points_are_named_within_the_frame(tmp_path: Path, width: int, logarithmic: bool) -> None:
    """Every label of up to 15 points stands beside them, inside the frame and apart; intervals are upright bars."""
    rows = [
        (0.001 * 3 ** (k // 3) * (1 + 0.02 * (k % 3)), 0.4 + k / 40, f"mixture number {k}", "ab"[k % 2], k % 3 == 0)
        for k in range(12)
    ]
    bars = [(*row, row[1] - 0.06, row[1] + 0.06) if k else (*row, None, None) for k, row in enumerate(rows)]
    columns = ("x", "y", "label", "series", "joined", "low", "high")
    chart = Chart("c", "c", "", "points", columns, bars, logarithmic=logarithmic, percent=["y"])
    many = Chart("m", "m", "", "points", columns[:5], [(k, k, f"mixture number {k}", "a", False) for k in range(16)])
    path = tmp_path / "page.html"
    path.write_text(page("t", [Section("s", [chart, many])]), encoding="utf-8")
    async with browser() as tab:
        await tab.open(path, width)
        boxes = await tab.run(
            """[...document.querySelectorAll('[data-chart=c] svg text')].filter(n => /^mixture num/.test(n.textContent))
               .map(n => n.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"""
        )
        assert len(boxes) == len(rows)
        left, top, right, bottom = await tab.run(
            "(b => [b.left, b.top, b.right, b.bottom])"
            "(document.querySelector('[data-chart=c] svg').getBoundingClientRect())"
        )
        assert all(b[0] >= left + 50 and b[1] >= top and b[2] <= right - 18 and b[3] <= bottom - 40 for b in boxes)
        if width > 1000 and logarithmic:
            clash = [
                (a, b)
                for k, a in enumerate(boxes)
                for b in boxes[:k]
                if a[0] < b[2] and b[0] < a[2] and a[1] + 2 < b[3] and b[1] + 2 < a[3]
            ]
            assert clash == []
        upright = "[...document.querySelectorAll('[data-chart=c] svg [aria-label=rule] line')].length"
        assert await tab.run(upright) == len(rows) - 1
        assert "mixture" not in await tab.run("document.querySelector('[data-chart=m] svg').textContent")
        assert tab.complaints == []
