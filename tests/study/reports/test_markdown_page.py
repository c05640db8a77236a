"""The Markdown page of a study, and its tables of every instance of files."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dlsched import study
from dlsched.study.figures.summary import summarise
from dlsched.study.recipes import read_recipe
from dlsched.study.reports.content import Content
from dlsched.study.reports.markdown_page import (
    MOST_INSTANCES,
    MOST_LINES,
    MOST_TABLES,
    instance_tables,
    page,
    write_page,
)
from dlsched.study.rows import EXPORTED, Row, RowColumn, table_columns
from dlsched.study.study import Study, command_of, content_of, report
from tests.study.by_hand import HOSTILE, answer, dead, rows_of
from tests.study.small import small


def of_file(row: Row, file: str) -> Row:
    return replace(row, preset="", source=file)


def test_cells_say_ratio_seconds_and_what_ended_the_search() -> None:
    rows = [
        of_file(answer("i0", "exact", 1.0, status="optimal", time_s=0.25), "a.json"),
        of_file(answer("i0", "mine", 1.5), "a.json"),
        of_file(dead("i0", "late"), "a.json"),
        of_file(answer("i1", "exact", 1.25, kind="bound", status="time_limit", time_s=10.0), "b.json"),
        of_file(replace(answer("i1", "low", 1.0, kind="bound"), objective=None, ratio=None, bound=80.0), "b.json"),
        of_file(dead("i1", "late", time_s=2.0), "b.json"),
    ]
    heading, words, table = instance_tables(summarise(rows))
    assert heading == "## Every instance of ring_allocation, files" and words.startswith("Ratio and seconds")
    assert table.splitlines()[0] == "| instance | reference | exact | mine | late | low |"
    assert table.splitlines()[2:] == [
        "| i0 | 100 | 1, 0.25 s | 1.50, 1 s | timeout | - |",
        "| i1 | 100 (bound) | \\<= 1.25, 10 s, time\\_limit | - | 2 s, timeout | 0.800, 1 s |",
    ]


def test_instances_of_one_name_are_two() -> None:
    """Of two files, or of one that only a number tells apart; without a reference a dash stands for it."""
    rows = [of_file(answer("same", "mine", 1.5), "a.json"), of_file(answer("same", "mine", 2.0), "b.json")]
    numbered = [replace(row, source="a.json", instance_id=index) for index, row in enumerate(rows)]
    for each in (rows, numbered):
        _, _, table = instance_tables(summarise(each))
        assert [line.split(" | ")[2] for line in table.splitlines()[2:]] == ["1.50, 1 s |", "2.00, 1 s |"]
    _, _, table = instance_tables(summarise([of_file(answer("i0", "mine", None), "a.json")]))
    assert table.splitlines()[2] == "| i0 | - | 1 s |"


def test_drawn_instances_and_many_have_none() -> None:
    assert not list(instance_tables(summarise([answer("i0", "mine", 1.5)])))
    many = [of_file(answer(f"i{index}", "mine", 1.5), "a.json") for index in range(MOST_INSTANCES + 1)]
    assert not list(instance_tables(summarise(many)))
    assert list(instance_tables(summarise(many[1:])))


TWO = {"exact": [1.0, 1.0, 1.0], "doubling": [1.1, 1.5, None]}


def content(rows: Sequence[Row], plan: str = "", name: str = "mine") -> Content:
    return Content(
        *(name, "The answer.", summarise(rows), lambda row: ("", f"make {row.instance}\nsolve it"), plan),
        limits={"time": "60 s"},
        environment={"python": "3"},
    )


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


def test_parts_in_their_order() -> None:
    text = page(content(rows_of(TWO)), "Words of one's own.")
    assert headings(text) == [
        "mine",
        "Ratios",
        "Where the best methods are worst",
        "Failures",
        "Limits and environment",
    ]
    parts = [
        "2 methods on 3 instances of ring\\_allocation: 6 cells. Ratios are to the best optimum or bound proven of",
        "**The answer.**",
        "Words of one's own.",
        "| exact |",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert re.search(r"^\| doubling \| mixed \| i1 \| 1\.50 \|.* make i1; solve it \|$", text, re.MULTILINE)
    assert "| doubling | timeout | 1 | i2 | why |" in text
    assert text.endswith("Limits: time 60 s. python 3.\n")


def test_a_derived_column_with_a_heading_stands_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the ratio, which stays under its own: 1.5 times the reference is a loss of 50 per cent."""
    loss = RowColumn("loss", lambda row: row.ratio and 100 * (row.ratio - 1), "number", "loss, %", ".3g")
    monkeypatch.setattr("dlsched.study.rows.EXPORTED", (*EXPORTED, loss))
    cells = [[cell.strip() for cell in line.split("|")] for line in page(content(rows_of(TWO))).splitlines()]
    heads = next(row for row in cells if "loss, %" in row)
    worst = dict(zip(heads, next(row for row in cells if "make i1; solve it" in row), strict=True))
    assert (worst["ratio"], worst["loss, %"]) == ("1.50", "50")


def test_no_failure_and_no_reference_leave_their_parts_out() -> None:
    text = page(content([answer("i0", "a", None), answer("i0", "b", None)]))
    assert headings(text) == ["mine", "Ratios", "Limits and environment"]


def test_the_comment_of_a_plan_is_the_head() -> None:
    plan = '# A title: of mine\n#\n# First words,\n# and more.\n\nname = "x"\n# not this\n'
    text = page(content(rows_of(TWO), plan))
    assert text.startswith("# A title: of mine\n\nFirst words,\nand more.\n\n2 methods on")
    assert "not this" not in text


def many(count: int) -> list[Row]:
    """Groups p0, p1, ...: the ratio of ``a`` in group n is n + 1, that of ``b`` twice as large."""
    return [
        answer("i", method, factor * (number + 1.0), preset=f"p{number}")
        for number in range(count)
        for method, factor in (("a", 1), ("b", 2))
    ]


def test_many_groups_get_a_line_each() -> None:
    text = page(content(many(MOST_TABLES + 1)))
    assert "| instances | number | a | b |" in text
    assert "| p0 | 1 | 1 | 2.00 |" in text and "| p12 | 1 | 13.0 | 26.0 |" in text
    assert "against best" not in text
    assert "against best" in page(content(many(MOST_TABLES)))


def test_a_crowd_of_groups_is_told_by_its_ends() -> None:
    """61 groups: means 1 to 61, median 31."""
    text = page(content(many(MOST_LINES + 1)))
    assert "| a | 61 | 1 | p0 | 31.0 | 61.0 | p60 |" in text
    assert "| b | 61 | 2.00 | p0 | 62.0 | 122 | p60 |" in text


def test_hostile_names_are_text() -> None:
    rows = [answer(HOSTILE, HOSTILE, 1.5, preset=HOSTILE), dead(HOSTILE, "b", preset=HOSTILE)]
    text = page(content(rows, name=HOSTILE))
    assert "<script>" not in text.replace("\\<script\\>", "") and "\x1b" not in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    worst = len(table_columns("method", "preset", "instance", "ratio")) + 1  # the command besides
    assert set(bars) == {worst + 1, 6, 10}  # five columns of failures, nine of the group: no name makes one more


def test_the_page_of_a_study_that_ran(tmp_path: Path) -> None:
    """The command line's format, and a baseline that proves nothing has no line: it would always be at 1."""
    with study.run(small(tmp_path), tmp_path / "s", workers=1) as done:
        write_page(content_of(done), tmp_path / "again.md")
    report(tmp_path / "s", tmp_path / "page.md", "markdown")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text == (tmp_path / "again.md").read_text(encoding="utf-8")
    assert "3 methods on 6 instances of ring\\_allocation: 18 cells." in text
    assert "dlsched generate ring\\_allocation --preset mixed --jobs" in text
    with study.run(small(tmp_path, reference={"method": "doubling"}), tmp_path / "s", workers=1) as done:
        against = content_of(done)
    assert [line.method for line in against.groups[0].lines] == ["exact", "equal"]
    assert "Ratios are to what doubling found on the same instance" in page(
        replace(against, evidence=lambda row: ("", ""))
    )


def test_commands_are_right_or_left_out() -> None:
    """The path stands within words of a command; a window of a trace and a function with parameters have none."""

    def made(source: str, **method: object) -> str:
        recipe = read_recipe("ring_allocation", source, "", None, {"instance": {}})
        of = {"kind": "name", "what": "equal", "solver": None, "parameters": {}, **method}
        return command_of(cast(Study, SimpleNamespace(made_by=lambda key: (recipe, of, 0))), dead("a", "b"))

    words = ["mine", "--in={instance}", "two words"]
    assert made("an instance.json", kind="command", what=words) == "mine '--in=an instance.json' 'two words'"
    assert made("an instance.json") == "dlsched solve 'an instance.json' --method equal"
    assert made("trace.csv [1.0, 2.0)") == made("trace.csv") == ""
    own = {"kind": "python", "what": ["mine.py", "solve"]}
    assert made("i.json", **own) == "dlsched solve i.json --method mine.py:solve"
    assert made("i.json", **own, parameters={"depth": 2}) == ""
