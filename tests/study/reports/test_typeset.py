"""LaTeX and Markdown: read back by a reader of the test and by a Markdown parser, every name stands there as it is."""

import html
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dlsched.core.messages import printable
from dlsched.study.figures.groups import Group
from dlsched.study.figures.summary import summarise
from dlsched.study.figures.tables import KEYS, note_of, table, title
from dlsched.study.reports.typeset import latex, latex_text, markdown, markdown_text
from tests.study.by_hand import HOSTILE, answer, rows_of

WORDS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textasciigrave": "`",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "char34": '"',
}
TOKEN = re.compile(r"\\([a-zA-Z]+\d*)\{\}|\\([{}$&#_%])|(\{\})|([^\\{}$&#_%~^`<>|\"])")
"""All that may stand in escaped text: a command with its {}, an escaped sign, an empty group, a letter without meaning."""
NASTY = [
    "50%",
    "a_b",
    "x&y",
    "$5",
    "#1",
    "{a}",
    "\\input{/etc/passwd}",
    "[3pt]",
    "*",
    "--",
    "``''",
    "?`",
    "~^",
    "a\nb",
    "%\n",
]


def read_latex(text: str) -> str:
    """What TeX would print."""
    found, end = [], 0
    for token in TOKEN.finditer(text):
        assert token.start() == end, f"TeX takes {text[end]!r} in {text!r} for more than a letter"
        end = token.end()
        word, sign, _, letter = token.groups()
        found.append(WORDS[word] if word else sign or letter or "")
    assert end == len(text), text[end:]
    assert not re.search(r"--|''|,,|``", text), "a ligature"
    assert text[:1] not in ("[", "*"), "an argument of the end of the row before"
    return "".join(found)


def group_of(name: str) -> Group:
    rows = [answer(f"i{index}", method, 1.5, kind="bound") for index in range(6) for method in ("doubling", name)]
    (group,) = summarise([replace(row, preset=name) for row in rows])
    return group


@pytest.mark.parametrize("name", NASTY)
def test_latex_prints_the_name(name: str) -> None:
    """On one line, as ``printable`` writes it."""
    assert read_latex(latex_text(name)) == printable(name)


@given(st.text(st.characters(max_codepoint=0x17F), max_size=30))
def test_latex_prints_any_text(text: str) -> None:
    """Letters of ASCII and Latin-1 stay, others are written as Python writes them."""
    read = read_latex(latex_text(text))
    assert read.encode("ascii", "backslashreplace") == printable(text).encode("ascii", "backslashreplace")


def test_latex_writes_what_pdflatex_lacks_as_python_does() -> None:
    """Chinese, Polish with an ogonek, and what needs another font encoding; German and French stay."""
    assert read_latex(latex_text("中ąþ")) == r"\u4e2d\u0105\xfe"
    assert latex_text("Größe à côté") == "Größe à côté"


def test_latex_table_by_hand() -> None:
    """Two lines between the rules of booktabs, the four columns that fit one of a paper, bounds with the sign."""
    (group,) = summarise(rows_of({"a_b": [1.5, 1.5], "exact": [1.0, 1.0]}, kind="bound"))
    lines = latex([group]).splitlines()
    assert lines[0] == r"\begin{table}"
    assert lines[2:5] == [
        r"\caption{ring\_allocation, mixed: 2 instances (2 against a bound)}",
        r"\label{tab:ring-allocation-mixed}",
        r"\begin{tabular}{lrrr}",
    ]
    assert [lines[index] for index in (5, 7, 10)] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert lines[8] == (r"a\_b & $\le$ 1.50 & $\le$ 1.50 & 1 s \\")
    assert lines[9] == r"exact & 1 & 1 & 1 s \\"
    assert lines[11] == r"\end{tabular}" and lines[13] == r"\end{table}"
    assert lines[12].startswith(
        r"\par\smallskip{\footnotesize Ratios: weighted sum of remaining times over the optimal"
    )
    assert r"times. $\le$ stands where a ratio rests on a bound" in lines[12]


def test_columns_of_latex_and_markdown() -> None:
    """Those that are named, in that order; the note says only what they need."""
    (group,) = summarise(rows_of({"a_b": [1.5, 1.2], "exact": [1.0, 1.0]}))
    text = latex([group, group], ("method", "worst"))
    assert r"\begin{tabular}{lr}" in text and r"a\_b & 1.50 \\" in text and "Wilcoxon" not in text
    assert text.count(r"\label{tab:ring-allocation-mixed}") == text.count(r"\label{tab:ring-allocation-mixed-2}") == 1
    assert cells_of(markdown([group], ("worst", "method")))[1] == ["1.50", "a_b"]


@pytest.mark.parametrize("name", [*NASTY, HOSTILE, "<= "])
def test_latex_of_hostile_names(name: str) -> None:
    """Each row ends once and has as many cells as there are columns, whose text is that of the table; braces match."""
    group = group_of(name)
    text = latex([group], KEYS)
    assert all(line.isprintable() for line in text.splitlines())
    plain = re.sub(r"\\[{}\\]", "", text)
    assert plain.count("{") == plain.count("}")
    rows = [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r" \\")]
    for line, cells in zip(rows, [table(group, KEYS)[0], *table(group, KEYS)[1]], strict=True):
        read = [read_latex(cell.replace(r"$\le$ ", r"\textless{}= ")) for cell in re.split(r"(?<!\\) & ", line)]
        assert read == [printable(cell).encode("latin-1", "backslashreplace").decode("latin-1") for cell in cells]


def cells_of(text: str) -> list[list[str]]:
    """Rows of the table that a Markdown parser finds, as text; nothing in a cell may be more than text."""
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rows = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        for row in re.findall(r"<tr>(.*?)</tr>", shown, re.DOTALL)
    ]
    assert not [cell for row in rows for cell in row if "<" in cell], "markup in a cell"
    return [[html.unescape(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("name", [*NASTY, HOSTILE])
def test_markdown_shows_the_table(name: str) -> None:
    """The parser finds the columns and the rows of the table, and the title and the note around it as they are."""
    group = group_of(name)
    columns, rows = table(group)
    text = markdown([group])
    assert cells_of(text) == [list(columns), *([printable(cell) for cell in row] for row in rows)]
    shown = html.unescape(MarkdownIt("commonmark").enable("table").render(text))
    assert f"<strong>{printable(title(group))}</strong>" in shown
    assert note_of([group]) in shown


@given(st.text(max_size=30))
def test_markdown_shows_any_text(text: str) -> None:
    """A cell of it reads as the text, spaces at its ends aside."""
    shown = cells_of(f"| a |\n| --- |\n| x{markdown_text(text)}x |\n")
    assert shown[1] == [f"x{printable(text)}x"]


def test_several_groups_and_none() -> None:
    """A table each; nothing of nothing."""
    groups = [group_of("one"), group_of("two")]
    assert latex(groups).count(r"\begin{tabular}") == markdown(groups).count("| --- |") == 2
    assert (latex([]), markdown([])) == ("", "")
