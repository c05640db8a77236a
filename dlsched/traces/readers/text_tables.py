"""Text tables, row by row: rows of a ``Table`` that do not fit are noted and left out, ``csv_rows`` refuses the file."""

import csv
import gzip
import math
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dlsched.core.errors import InputError, UsageError
from dlsched.core.messages import shown
from dlsched.traces.queue import Audit

if TYPE_CHECKING:
    import _csv

QUOTED = ",;\t"  # delimiters of tables whose cells may be quoted


@dataclass(frozen=True, slots=True)
class Table:
    """A text table: its columns in file order, and their delimiter; ``headed``: the first row names them."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    headed: bool = True

    def rows(self, wanted: Sequence[str], audit: Audit) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the line of each row and its cells in the wanted columns; an empty text for a column that is missing."""
        places = [self.columns.index(name) if name in self.columns else len(self.columns) for name in wanted]
        width, header = len(self.columns), list(self.columns) if self.headed else None
        with open_text(self.path, errors="replace") as file:
            named = False
            try:
                for line, row in _rows(_lines(file, audit), self.delimiter, width, audit):
                    if len(row) == width + 1 and not row[-1]:
                        row.pop()  # sacct -p ends rows with a delimiter too
                    if len(row) != width:
                        if row and any(map(str.strip, row)):
                            audit.note(f"rows with other than {width} cells, left out", line)
                        continue
                    if header is not None and row[0].strip() == header[0] and list(map(str.strip, row)) == header:
                        if named:
                            audit.note("headers between the rows, passed over", line)
                        named = True
                        continue
                    row.append("")
                    yield line, tuple([row[place] for place in places])
            except csv.Error as error:
                raise InputError(f"{self.path}, {error}") from None


def open_table(path: Path, known: Collection[str], *, delimiter: str | None = None) -> Table:
    """Read the header; InputError: the file is empty, or its first line has no column that is known."""
    if delimiter is not None and len(delimiter) != 1:
        raise UsageError(where="delimiter", found=shown(delimiter), allowed="one character")
    text = first_line(path)
    # The delimiter is the sign that splits the header into the most known columns.
    signs = {sign for sign in text if not sign.isalnum() and sign not in " _.\"'()%:/-\ufffd"}
    splits = {sign: _cells(text, sign) for sign in sorted(signs | {"|"})} if delimiter is None else {}
    found = delimiter or max(splits, key=lambda sign: len(set(known) & set(splits[sign])))
    columns = _cells(text, found)
    if not set(known) & set(columns):
        raise InputError(
            where=f"{path}, line 1", found=shown(text), allowed=f"a header with columns of {', '.join(sorted(known))}"
        )
    repeated = next((name for name in columns if name in known and columns.count(name) > 1), None)
    if repeated is not None:
        raise InputError(where=f"{path}, line 1", found=f"column {shown(repeated)} twice", allowed="once")
    return Table(path, columns, found)


def whole_rows(table: Table, wanted: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows of a table such as a list of nodes; InputError: a row does not fit."""
    audit = Audit()
    yield from table.rows(wanted, audit)
    if audit.sentences():
        raise InputError(
            where=str(table.path), found="damage", allowed=f"whole rows only ({audit.sentences()[0].rstrip('.')})"
        )


def require(table: Table, *choices: Sequence[str]) -> None:
    """Check that the table has one column of each choice; InputError: it has none."""
    missing = [" or ".join(names) for names in choices if not set(names) & set(table.columns)]
    if missing:
        there = ", ".join(shown(name) for name in table.columns[:30])
        raise InputError(f"{table.path}, line 1: missing column {', '.join(missing)}; found {there}")


def first_line(path: Path) -> str:
    """Return the first line that is not blank, without its end; InputError: the file is empty."""
    with open_text(path, errors="replace") as file:
        for line in file:
            if line.strip():
                return line.rstrip("\n").replace("\0", "\ufffd")
    raise InputError(where=str(path), found="an empty file", allowed="at least one row")


def open_text(path: Path, *, errors: str = "strict", newline: str | None = None) -> TextIO:
    """Open UTF-8, or what the byte order mark shows (PowerShell writes UTF-16), packed by gzip or not; InputError: no text."""
    with path.open("rb") as file:
        opener = gzip.open if file.read(2) == b"\x1f\x8b" else open
    with opener(path, "rb") as file:
        head = file.read(1024)
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = head.decode(encoding, "replace")
    # a few bytes of another encoding are text, a quarter of the beginning is not
    if sum(not (char.isprintable() or char.isspace()) or char == "\ufffd" for char in text) > max(2, len(text) / 4):
        raise InputError(where=str(path), found="bytes that are no text", allowed="text, as it is or packed by gzip")
    return opener(path, "rt", encoding=encoding, errors=errors, newline=newline)


def _rows(lines: Iterator[str], sign: str, width: int, audit: Audit) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its first line; csv.Error: the file is no table, and no quote is to blame.

    A quoted cell may hold line ends. If it holds a whole row of that width, or is longer than cells may be,
    its quote is taken as unclosed: that row is noted, and the lines after it are separate rows.
    """
    back: deque[str] = deque()
    pending: list[str] = []

    def following() -> Iterator[str]:
        while (text := back.popleft() if back else next(lines, None)) is not None:
            pending.append(text)
            yield text

    line = 1
    while True:
        # ``pending`` holds the lines of the present row; if its quote never closes, they are read again one by one.
        try:
            for row in _parted(following(), sign):
                if any(_whole(text, sign, width) for text in pending[1:]):
                    break
                yield line, row
                line += len(pending)
                pending.clear()
            else:
                return
        except csv.Error as error:
            if len(pending) < 2:
                raise csv.Error(f"line {line}: found no table of text ({error})") from None
        audit.note("rows with a quote that does not close, left out", line)
        line += 1
        back.extendleft(reversed(pending[1:]))
        pending.clear()


def _whole(text: str, sign: str, width: int) -> bool:
    """Whether a line is a row of its own, be it one that opens a quote, and not the rest of a cell in quotes."""
    before, quote, _ = text.partition('"')
    opens = not quote or not before or before.endswith(sign)
    return opens and width in (len(_cells(text, sign)), text.count(sign) + 1)


def _parted(lines: Iterable[str], sign: str) -> "_csv.Reader":
    """Rows of cells; only tables of some delimiters have quotes."""
    return csv.reader(lines, delimiter=sign, quoting=csv.QUOTE_MINIMAL if sign in QUOTED else csv.QUOTE_NONE)


def _cells(text: str, sign: str) -> tuple[str, ...]:
    try:
        cells = tuple(cell.strip() for cell in next(_parted([text], sign)))
    except csv.Error:
        return ()
    return cells[:-1] if not cells[-1] else cells


def _lines(file: Iterator[str], audit: Audit) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if "\0" in line or "\ufffd" in line:
            audit.note("lines with bytes that are no text, shown as \ufffd", number)
            line = line.replace("\0", "\ufffd")
        yield line


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Check the columns, and yield the line number and cells of each row; ValueError names the line."""
    found = False
    with open_text(path, newline="") as file:
        reader = csv.DictReader(file)
        try:
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise ValueError(f"{path}, line 1: missing column {', '.join(missing)}")
            for row in reader:
                if None in row or None in row.values():
                    raise ValueError(f"{path}, line {reader.line_num}: the number of cells differs from the header's")
                found = True
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}, after line {reader.line_num}: not CSV in UTF-8 ({error})") from None
    if not found:
        raise ValueError(f"{path}: no row below the header")


def tab_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells, parted by tabs, of each row of a file without a header; ValueError names the line."""
    line = 0
    with open_text(path) as file:
        try:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                cells = text.rstrip("\n").split("\t")
                if len(cells) != len(columns):
                    raise ValueError(
                        f"{path}, line {line}: a row must hold {len(columns)} cells parted by tabs, found {len(cells)}"
                    )
                yield line, dict(zip(columns, cells, strict=True))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, after line {line}: not UTF-8 ({error})") from None
    if not line:
        raise ValueError(f"{path}: no row")


def integer(row: Mapping[str, str], column: str, where: str, *, digits: int = 9) -> int:
    """Read a cell as an integer >= 1 of at most ``digits`` digits; ValueError for anything else."""
    if re.fullmatch(rf"[1-9][0-9]{{0,{digits - 1}}}", row[column].strip()) is None:
        raise ValueError(f"{where}: {column} must be a positive integer, found {row[column]!r}")
    return int(row[column])


def real_number(row: Mapping[str, str], column: str, where: str, *, positive: bool = False) -> float:
    """Read a cell as a finite number, > 0 if ``positive``; ValueError for anything else."""
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (positive and value <= 0):
        kind = "positive number" if positive else "number"
        raise ValueError(f"{where}: {column} must be a {kind}, found {row[column]!r}")
    return value
