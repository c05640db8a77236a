"""Figures and their keys, and the page around them."""

import re
from pathlib import Path

import pytest

from dlsched.reproduce.entries import ENTRIES
from dlsched.reproduce.findings import Beside, Findings, Mark, Panel, Series
from dlsched.reproduce.page import beside_table, drawing_of, write_page
from dlsched.statistics.inference import Estimate
from dlsched.study.plans.plan import CellLimits
from dlsched.study.store.reading import About

HOSTILE = "<script>alert(1)</script>"
LINES = Panel(
    "Lines",
    "Some.",
    "jobs",
    "utility",
    [
        Series("ours", [Mark(40, Estimate(2.0, 1.0, 3.0)), Mark(100, Estimate(4.0))], kin="a"),
        Series("the paper", [Mark(40, Estimate(5.0))], "paper", "a"),
    ],
)
DOTS = Panel(
    "Dots",
    "Others.",
    "method",
    "gap",
    [
        Series("instance", [Mark("beam", Estimate(0.0), HOSTILE), Mark("market", Estimate(50.0), "i2")], cloud=True),
        Series("mean", [Mark("beam", Estimate(1.0, -0.5, 2.5))]),
    ],
    ("halved", 2.0),
    0.01,
)
FINDINGS = Findings(
    [LINES, DOTS],
    [Beside("forty", Estimate(2.0, 1.0, 3.0), 5.0), Beside("many", None, None, "more than 2")],
    "paper",
    "utility",
    ["It is so."],
)


def test_lines_stand_where_the_numbers_say() -> None:
    """Ours from 1 to 3 around 2; the paper's hollow; both of a kin in one colour, with an entry of the key each."""
    drawing = drawing_of(LINES)
    ours, paper = drawing.figure.traces
    assert (ours.x, ours.y) == ([40.0, 100.0], [2.0, 4.0]) and (paper.x, paper.y) == ([40.0], [5.0])
    assert (ours.above, ours.below, ours.sideways) == ([1.0, 0.0], [1.0, 0.0], False)
    assert (ours.symbol, ours.hollow, paper.symbol, paper.hollow) == ("o", [False, False], "o", [True])
    assert ours.colour == paper.colour
    assert [(key.label, key.hollow) for key in drawing.key] == [("ours", False), ("the paper", True)]
    assert (drawing.figure.y.low, drawing.figure.y.high) == (0, pytest.approx(5.3))


def test_dots_are_drawn_at_the_floor_and_written_as_they_are() -> None:
    """0 is drawn at 0.01 on a logarithmic axis, the interval ends there, and the table has both; the level is a line."""
    drawing = drawing_of(DOTS)
    level, cloud, mean = drawing.figure.traces
    assert level.x == [2.0, 2.0] and cloud.x == [0.01, 50.0]
    assert (mean.below, mean.sideways) == ([pytest.approx(0.99)], True)
    assert drawing.figure.x.log
    (numbers,) = drawing.figure.tables
    assert [cell.text for cell in numbers.rows[0]] == ["instance", "beam", "0", "–", "–", HOSTILE]
    assert [cell.text for cell in numbers.rows[2]] == ["mean", "beam", "1", "-0.5", "2.5", ""]


def test_beside_says_what_is_stated() -> None:
    """A number with the difference, or words; without any number the last column is left out."""
    table = beside_table(FINDINGS)
    assert table is not None
    assert [[cell.text for cell in line] for line in table.rows] == [
        ["forty", "2", "5", "-60 %"],
        ["many", "–", "more than 2", "–"],
    ]
    words = Findings([], [Beside("many", Estimate(3.0), None, "more than 2")], "abstract", "ratio", [])
    shorter = beside_table(words)
    assert shorter is not None and len(shorter.columns) == 3
    assert beside_table(Findings([], [], "paper", "ratio", [])) is None


def test_the_page_holds_everything_and_trusts_no_name(tmp_path: Path) -> None:
    """Figures, keys, tables, words and the command; names as text; the same arguments give the same bytes."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    about = About("x", f'name = "{HOSTILE}"\n', None, CellLimits(), 4, 2, 3, {})
    path = tmp_path / "page.html"
    write_page(
        path,
        ENTRIES["gadget-fig4"],
        FINDINGS,
        about,
        differs=["All of it."],
        environment={"dlsched": "1"},
        command="dlsched reproduce gadget-fig4 -o gadget-fig4.html",
        quick=True,
    )
    text = path.read_text(encoding="utf-8")
    head = text.split("<script>")[0]
    for words in ("Reproduction, quick", "It is so.", "All of it.", "3 of 4", "hollow ones the paper", "more than 2"):
        assert words in head, words
    assert HOSTILE not in text and "default-src &#39;none&#39;" in head.replace("'none'", "&#39;none&#39;")
    assert len(re.findall(r'<div class="plot" [^>]*><svg ', text)) == 2
    assert not re.search(r"(src|href)=\"https?:", head)
