"""Helpers of the readers of text tables: located rows, checked cells, and the wording of the audit."""

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Check the columns, and yield the line number and cells of each row; ValueError names the line."""
    found = False
    with path.open(encoding="utf-8-sig", newline="") as file:
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
    with path.open(encoding="utf-8-sig") as file:
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


def positive(row: Mapping[str, str], column: str, where: str) -> float:
    """Read a cell as a finite number > 0; ValueError for anything else."""
    value = _float(row[column])
    if not 0 < value < math.inf:
        raise ValueError(f"{where}: {column} must be a positive number, found {row[column]!r}")
    return value


def number(row: Mapping[str, str], column: str, where: str) -> float:
    """Read a cell as a finite number; ValueError for anything else."""
    value = _float(row[column])
    if not math.isfinite(value):
        raise ValueError(f"{where}: {column} must be a number, found {row[column]!r}")
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def counted(rows: int, kept: int, distinct: int) -> list[str]:
    """Write the sentences of the audit on how many rows were read, kept as jobs, and different."""
    audit = [
        f"Rows read: {rows:,}.",
        f"Rows with a duration of 0 s or less, left out: {rows - kept:,}." if rows > kept else "",
        f"Rows equal to an earlier row, kept as jobs of their own: {rows - distinct:,}." if rows > distinct else "",
    ]
    return [sentence for sentence in audit if sentence]


def listing(what: str, names: Sequence[str]) -> str:
    """Write a sentence of the audit that lists names; empty if there are none."""
    return f"{what}: {len(names)} ({', '.join(names)})." if names else ""


def rounded(value: float) -> float:
    """Round to 6 significant digits."""
    return float(f"{value:.6g}")
