"""Text tables: their delimiter, their encoding, rows that do not fit."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue import Audit
from dlsched.traces.readers.text_tables import open_table, require


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "table.txt"
    path.write_bytes(content)
    return path


def rows(path: Path, audit: Audit | None = None) -> list[tuple[int, tuple[str, ...]]]:
    return list(open_table(path, ("a", "b")).rows(("b", "a", "c"), audit or Audit()))


@pytest.mark.parametrize(
    "content",
    [
        *(b"a|b\n1|2\n", b"a,b\n1,2", b"a;b\r\n1;2\r\n", b"a\tb\r1\t2\r", b"a^b\n1^2\n", b" a | b \n1|2\n"),
        *(b"\xef\xbb\xbfa|b\n1|2\n", "a|b\n1|2\n".encode("utf-16"), b'"a","b"\n"1","2"\n'),
        *(b"a|b|\n1|2|\n", b"a|b|\n1|2\n"),
    ],
)
def test_what_is_the_same_table(content: bytes, tmp_path: Path) -> None:
    """In columns that are asked for; one that is not there is empty."""
    assert rows(file(tmp_path, content)) == [(2, ("2", "1", ""))]


def test_rows_that_do_not_fit(tmp_path: Path) -> None:
    """They are counted with their line; blank ones and headers again are passed over."""
    audit = Audit()
    path = file(tmp_path, b"\na|b\n1|2\n3\n\n4|5|6\na|b\n7|\x008\n\xff|9\n")
    assert rows(path, audit) == [(3, ("2", "1", "")), (8, ("\ufffd8", "7", "")), (9, ("9", "\ufffd", ""))]
    assert audit.sentences() == [
        "Rows with other than 2 cells, left out: 2 (first in line 4).",
        "Headers between the rows, passed over: 1 (first in line 7).",
        "Lines with bytes that are no text, shown as \ufffd: 2 (first in line 8).",
    ]


def test_quotes(tmp_path: Path) -> None:
    """A quoted cell may hold delimiters and lines; one that does not close takes its own row with it, which is said."""
    audit = Audit()
    assert rows(file(tmp_path, b'a,b\n"1,\n1",2\n3,4\n'), audit) == [(2, ("2", "1,\n1", "")), (4, ("4", "3", ""))]
    assert audit.sentences() == []
    assert rows(file(tmp_path, b'a,b\n1,2\n"3,4\n5,6\n7,8\n'), audit) == [
        *((2, ("2", "1", "")), (4, ("6", "5", "")), (5, ("8", "7", "")))
    ]
    assert audit.sentences() == ["Rows with a quote that does not close, left out: 1 (first in line 3)."]
    assert rows(file(tmp_path, b'a,b\n"1\n, with ""2""\nand ""3"", 4",5\n6,7\n'), audit) == [
        *((2, ("5", '1\n, with "2"\nand "3", 4', "")), (5, ("7", "6", "")))
    ]
    long = b'a,b\n"1,2\n' + b"3,4\n" * 50_000
    assert len(rows(file(tmp_path, long))) == 50_000
    assert rows(file(tmp_path, b'a|b\n1|"2\n3|4\n')) == [(2, ('"2', "1", "")), (3, ("4", "3", ""))]


def test_what_is_no_table(tmp_path: Path) -> None:
    """Empty files, headers without a column that is known or with one twice, cells without end."""
    for content, said in (
        (b"", "table.txt: found an empty file"),
        (b"\n \n", "table.txt: found an empty file"),
        (b"x|y\n", r'line 1: found "x\|y", allowed: a header with columns of a, b'),
        (b"a|b|a\n", 'line 1: found column "a" twice'),
        (b"a,b\n" + b"1" * 200_000, "line 2: found no table of text"),
        (b"1" * 200_000, "line 1: found"),
    ):
        with pytest.raises(InputError, match=said):
            rows(file(tmp_path, content))


def test_columns_that_are_needed(tmp_path: Path) -> None:
    table = open_table(file(tmp_path, b"a|b\n"), ("a",))
    require(table, ("a", "c"), ("b",))
    with pytest.raises(InputError, match='line 1: missing column c or d; found "a", "b"'):
        require(table, ("c", "d"))
