"""Exports of rows and tables to files: CSV, Parquet, JSON, LaTeX and Markdown."""

import csv
import html
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pyarrow import parquet

from dlsched.core.errors import InputError, SolverMissingError, UsageError
from dlsched.core.messages import printable
from dlsched.study.figures.summary import Group, summarise
from dlsched.study.figures.tables import KEYS, note_of, table, title
from dlsched.study.reports.export import FORMATS, export, latex, latex_text, markdown, markdown_text
from dlsched.study.rows import COLUMNS, EXPORTED, Row
from tests.study.by_hand import HOSTILE, answer, dead, rows_of

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


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def cells_of(text: str) -> list[list[str]]:
    """Rows of the table that a Markdown parser finds, as text; nothing in a cell may be more than text."""
    shown = PARSER.render(text)
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
    shown = html.unescape(PARSER.render(text))
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


FILE = Row("k", "from-file", "ring_allocation", "a.json", "", None, None, None, "=1+1", "error", message=HOSTILE)
ROWS = [
    replace(answer("a", "doubling", 1.0 / 3), bound=0.1, gap=0.5, cpu_s=1e-300, memory_mib=12.5),
    dead("b", HOSTILE),
    FILE,
]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return the path of a file that is not there yet."""
    return tmp_path / "out"


def test_columns_are_pinned(out: Path) -> None:
    """These, in this order, whatever a row holds besides; a new column is added at the end, here too."""
    export(ROWS, "csv", out)
    assert out.read_text().splitlines()[0] == (
        "key,instance,family,source,preset,jobs,gpus,seed,method,status,objective,bound,reference,reference_kind,ratio,gap,"
        "time_s,cpu_s,memory_mib,message,objective_name"
    )


def test_the_documentation_lists_the_columns() -> None:
    """The same, in the same order but for those that share a line."""
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.partition("### Rows of a study")[2].partition("###")[0]
    heads = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert sorted(name for head in heads for name in re.findall(r"`(\w+)`", head)) == sorted(COLUMNS)


def test_data_are_the_fields() -> None:
    """Of columns that are fields of a row, what the field holds; what follows from them is tested with the column."""
    for row in ROWS:
        data = row.as_data()
        assert list(data) == list(COLUMNS)
        assert all(data[column.name] == getattr(row, column.name) for column in EXPORTED if not column.derived)


def test_csv_by_hand(out: Path) -> None:
    """Numbers to their last digit, nothing where nothing is known, formulas and line breaks as text."""
    export(ROWS, "csv", out)
    first, second, third = csv.DictReader(io.StringIO(out.read_text()))
    assert (first["ratio"], first["cpu_s"], first["jobs"]) == ("0.3333333333333333", "1e-300", "10")
    assert float(first["objective"]) == ROWS[0].objective
    assert (second["objective"], second["ratio"], second["reference_kind"]) == ("", "", "")
    assert second["method"] == HOSTILE.replace("\\", "\\\\").replace("\n", "\\n").replace("\x1b", "\\x1b").replace(
        "'", "\\'"
    )
    assert (third["method"], third["jobs"], third["seed"]) == ("'=1+1", "", "")
    assert out.read_text().count("\n") == 4


def test_json_keeps_everything(out: Path) -> None:
    """A list of rows with the columns of the CSV; every name as it is, and no byte that a terminal obeys."""
    export(iter(ROWS), "json", out)
    assert json.loads(out.read_bytes()) == [row.as_data() for row in ROWS]
    assert all(32 <= byte < 127 or byte == 10 for byte in out.read_bytes())
    export([], "json", out)
    assert json.loads(out.read_bytes()) == []


def test_parquet_has_types(out: Path) -> None:
    """Integers, numbers and strings, all of which may be missing; values as they are, halves of characters escaped."""
    export([*ROWS, replace(FILE, instance="\udcff")], "parquet", out)
    found = parquet.read_table(out)
    assert found.schema.names == list(COLUMNS)
    fields = [column.name for column in EXPORTED if not column.derived]
    assert {name for name in fields if found.schema.field(name).type == pa.int64()} == {"jobs", "gpus", "seed"}
    assert {name for name in fields if found.schema.field(name).type == pa.string()} == {
        *("key", "instance", "family", "source", "preset", "method", "status", "reference_kind", "message"),
        "objective_name",
    }
    assert all(found.schema.field(name).type in (pa.int64(), pa.string(), pa.float64()) for name in COLUMNS)
    assert found.to_pylist()[:3] == [row.as_data() for row in ROWS]
    assert found.to_pylist()[3]["instance"] == "\\udcff"


def test_parquet_of_many_and_of_none(out: Path) -> None:
    """Many are written in parts, in order; of none there are the columns all the same."""
    export((replace(FILE, seed=number) for number in range(20_001)), "parquet", out)
    assert parquet.ParquetFile(out).num_row_groups == 3
    assert parquet.read_table(out)["seed"].to_pylist() == list(range(20_001))
    export([], "parquet", out)
    assert parquet.read_table(out).schema.names == list(COLUMNS)


def test_parquet_of_an_integer_that_does_not_fit(out: Path) -> None:
    """Refused in words, and no file is left."""
    with pytest.raises(InputError, match="found an integer of more than 64 bits, allowed: 64; or csv or json"):
        export([replace(FILE, seed=2**63)], "parquet", out)
    assert list(out.parent.iterdir()) == []


def test_tables_are_those_of_the_summary(out: Path) -> None:
    """With the limit of time, though no column shows what hangs on it."""
    for form, typeset in (("latex", latex), ("markdown", markdown)):
        export(iter(ROWS), form, out, limit_s=60.0)
        assert out.read_text(encoding="utf-8") == typeset(summarise(ROWS, 60.0))


@pytest.mark.parametrize("form", FORMATS)
def test_files_appear_whole_or_not_at_all(form: str, out: Path) -> None:
    """A store that breaks while it is read leaves the old file, and nothing beside it."""
    out.write_text("old")

    def broken() -> Iterator[Row]:
        yield from ROWS
        raise RuntimeError("the store broke")

    with pytest.raises(RuntimeError, match="the store broke"):
        export(broken(), form, out)
    assert out.read_text() == "old"
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize("form", FORMATS)
def test_standard_output_gets_the_same_bytes(form: str, out: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """And remains open."""
    export(ROWS, form, out)
    export(ROWS, form, "-")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == out.read_bytes()
    print("still open", flush=True)
    assert capfdbinary.readouterr().out == b"still open\n"


def test_refusals(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there by the file's name, whatever the format; no such format; Parquet for a terminal."""
    for form in FORMATS:
        with pytest.raises(InputError, match="cannot be written"):
            export(ROWS, form, out / "no" / "out")
    with pytest.raises(UsageError, match="found 'xlsx', allowed: csv, parquet, json, latex, markdown"):
        export(ROWS, "xlsx", out)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="found parquet for a terminal"):
        export(ROWS, "parquet", "-")


def test_without_pyarrow_it_says_what_to_install(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 6, and no file; the other formats need nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(SolverMissingError, match=r"pip install 'dlsched\[frames\]'") as raised:
        export(ROWS, "parquet", out)
    assert raised.value.exit_code == 6
    assert not out.exists()
    export(ROWS, "csv", out)
