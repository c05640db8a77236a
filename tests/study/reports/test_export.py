"""Exports, read back with the standard library and with pyarrow; files that appear whole or not at all."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from dlsched.core.errors import InputError, SolverMissingError, UsageError
from dlsched.study.figures.summary import summarise
from dlsched.study.reports.export import FORMATS, export
from dlsched.study.reports.typeset import latex, markdown
from dlsched.study.rows import COLUMNS, Row
from tests.study.by_hand import HOSTILE, answer, dead

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
    """These, in this order, whatever a row holds besides."""
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
    assert json.loads(out.read_bytes()) == [{name: getattr(row, name) for name in COLUMNS} for row in ROWS]
    assert all(32 <= byte < 127 or byte == 10 for byte in out.read_bytes())
    export([], "json", out)
    assert json.loads(out.read_bytes()) == []


def test_parquet_has_types(out: Path) -> None:
    """Integers, numbers and strings, all of which may be missing; values as they are, halves of characters escaped."""
    export([*ROWS, replace(FILE, instance="\udcff")], "parquet", out)
    found = parquet.read_table(out)
    assert found.schema.names == list(COLUMNS)
    assert {name for name in COLUMNS if found.schema.field(name).type == pa.int64()} == {"jobs", "gpus", "seed"}
    assert {name for name in COLUMNS if found.schema.field(name).type == pa.string()} == {
        *("key", "instance", "family", "source", "preset", "method", "status", "reference_kind", "message"),
        "objective_name",
    }
    assert all(found.schema.field(name).type in (pa.int64(), pa.string(), pa.float64()) for name in COLUMNS)
    assert found.to_pylist()[:3] == [{name: getattr(row, name) for name in COLUMNS} for row in ROWS]
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
