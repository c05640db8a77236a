"""Damage that real files have: each case is left out or repaired with its reason and line, or the file is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dlsched.core.errors import InputError
from dlsched.traces import SOURCES

HEADER = "JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES"
GOOD = (
    "1|ada|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:30:00|2024-05-01T12:30:00|7200|2880|cpu=8,gres/gpu=4|gres/gpu=4"
)
GPUS = "cpu=8,gres/gpu=4|gres/gpu=4"
COLUMNS = {"arrival": "t", "start": "s", "end": "e", "duration": "d", "gpus": "g", "id": "i"}


class Case(NamedTuple):
    """A file of Slurm or a table, how many jobs are left of it, and what the audit or the error says."""

    content: str | bytes
    left: int | None  # None: refused
    said: str


def slurm(*changes: str) -> str:
    """A dump of a good row and rows in which changes ``old => new`` are made."""
    rows = []
    for count, change in enumerate(changes, 2):
        old, _, new = change.partition(" => ")
        assert old in GOOD or not old
        rows.append(re.sub(r"^1\|", f"{count}|", GOOD.replace(old, new, 1)) if old else new)
    return "\n".join([HEADER, GOOD, *rows]) + "\n"


CHANGES = {
    "no submit time": ("2024-05-01T10:00:00 => Unknown", 1, "without a submission time, left out: 1 (first in line 3)"),
    "no start, with a duration": (
        "2024-05-01T10:30:00 => ",
        2,
        "without a start, computed from end and duration: 1 (first in line 3)",
    ),
    "all times missing": (
        "2024-05-01T10:00:00|2024-05-01T10:30:00|2024-05-01T12:30:00|7200 => |||",
        1,
        "without running, left out: 1",
    ),
    "end before start": (
        "T12:30:00|7200 => T09:30:00|",
        1,
        "before they start, left out: 1 (first in line 3, -3600.0)",
    ),
    "end before start, with a duration": (
        "T12:30 => T09:30",
        2,
        "whose stated duration is used: 1 (first in line 3",
    ),
    "a time in words": (
        "2024-05-01T12:30:00 => yesterday",
        1,
        'End is not a time, left out: 1 (first in line 3, "yesterday")',
    ),
    "zones in some times": ("T12:30:00 => T14:30:00+02:00", 2, "Warning: 5 of 6 times have no zone"),
    "numbers among dates": ("2024-05-01T12:30:00 => 1714566600", 1, "End is a number among dates, left out: 1"),
    "a duration in words": ("7200 => long", 1, 'ElapsedRaw is not a number, left out: 1 (first in line 3, "long")'),
    "types that contradict": ("gres/gpu=4 => gres/gpu=1,gres/gpu:a100=4", 2, "typed and untyped GPUs differ"),
    "0 GPUs": (f"{GPUS} => cpu=8,gres/gpu=0|gres/gpu=0", 1, "Jobs without a GPU, left out: 1 (first in line 3)"),
    "GPUs in parts": ("gres/gpu=4 => gres/gpu=0.5", 1, "number of GPUs is not whole, left out: 1 (first in line 3, "),
    "resources in words": ("cpu=8,gres/gpu=4 => four gpus", 1, "resources are not a list of name=amount, left out: 1"),
    "no state": ("COMPLETED => ", 2, "Jobs read: 2"),
    "a cut state": ("COMPLETED => CANCELLED+", 2, "Jobs read: 2"),
    "an unknown state": ("COMPLETED => VANISHED", 2, "Jobs read: 2"),
    "runs": ("COMPLETED => RUNNING", 1, "Jobs that are still running or waiting, left out: 1 (first in line 3)"),
    "NUL bytes in a name": ("ada => a\0da", 2, "bytes that are no text, shown as \ufffd: 1 (first in line 3)"),
    "NUL bytes in a figure": ("7200 => 72\0" + "00", 1, "ElapsedRaw is not a number, left out: 1"),
    "a hostile name": ("ada => <script>alert(1)</script>\x1b[31m" + 300 * "x", 2, "Jobs read: 2"),
    "no order of time": ("T10:00 => T09:00", 2, "Jobs submitted before the one above them: 1"),
}
"""Of a good row, ``old => new``, how many jobs are left, and what is said."""
ROWS = {name: Case(slurm(change), left, said) for name, (change, left, said) in CHANGES.items()} | {
    "a huge array": Case(
        slurm(" => 9_[0-999999999]|bob|PENDING|2024-05-01T10:00:00|Unknown|Unknown|0|60||gres/gpu=1"),
        1,
        "Lists of numbers that cannot be read: 1 (first in line 3",
    ),
    "no job id": Case(slurm(" => " + GOOD.removeprefix("1")), 1, "without a job id, left out: 1 (first in line 3)"),
    "too few cells": Case(
        slurm(" => 3|bob|COMPLETED"), 1, "Rows with other than 10 cells, left out: 1 (first in line 3)"
    ),
    "words of a warning": Case(
        slurm(" => sacct: error: connection lost"), 1, "Rows with other than 10 cells, left out: 1"
    ),
    "Latin-1 in a name": Case(slurm("ada => j\u00fcrgen").encode("latin-1"), 2, "bytes that are no text"),
    "an empty file": Case("", None, "found an empty file"),
    "only a header": Case(HEADER, None, "found no job that held GPUs and has ended"),
    "no header": Case(GOOD, None, "line 1: found "),
    "a header of other words": Case("a|b|c\n1|2|3\n", None, 'line 1: found "a|b|c", allowed: a header with columns of'),
    "a column missing": Case(slurm().replace("Submit", "Eligible"), None, "line 1: missing column Submit"),
    "no bars (without -P)": Case(slurm().replace("|", " "), None, "line 1: found "),
    "commas in cells that are not quoted": Case(
        slurm().replace("|", ","), None, "Rows with other than 10 cells, left out: 1"
    ),
    "noise": Case(bytes(range(256)), None, "found bytes that are no text, allowed: text, as it is or packed by gzip"),
    "a compressed file": Case(b"PK\x03\x04\x14\x00\x00\x00\x08\x00" * 9, None, "found bytes that are no text"),
    "no GPU anywhere": Case(slurm().replace("gres/gpu", "gres/craynetwork"), None, "Jobs without a GPU, left out: 1"),
    "all rows damaged": Case(
        slurm().replace("T12:30", "T99:30"), None, "End is not a time, left out: 1 (first in line 2"
    ),
}

TABLE = "i,t,s,e,d,g\na,0,10,70,60,2\n"
CELLS = {
    "GPUs in parts": Case(TABLE + "b,0,10,70,60,0.5\n", 2, "Jobs read: 2"),
    "thousands in quotes": Case(TABLE + 'b,0,10,"1,070",60,2\n', 1, "e is not a time, left out: 1 (first in line 3, "),
    "GPUs missing": Case(TABLE + "b,0,10,70,60,\n", 1, "without a number of GPUs, left out: 1 (first in line 3)"),
    "a decimal comma": Case(
        TABLE.replace(",", ";") + "b;0;10;70;60,5;2\n", 1, 'd is not a number, left out: 1 (first in line 3, "60,5")'
    ),
    "no id": Case(TABLE + ",5,10,70,60,2\n", 2, "Jobs read: 2"),
    "dates among numbers": Case(TABLE + "b,2024-05-01,10,70,60,2\n", 1, "t is a date among numbers, left out: 1"),
    "times before 0": Case(TABLE + "b,-50,10,70,60,2\n", 2, "Jobs submitted before the one above them: 1"),
    "columns of another file": Case("x,y\n1,2\n", None, "line 1: found "),
}


READ = [name for name, source in SOURCES.items() if source.reader and name not in ("gavel", "tiresias")]
"""Sources of queues, less those of simulators."""


def check(case: Case, read: Callable[[Path], Any], path: Path) -> None:
    """Read the file of a case, and find what it should say."""
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    if case.left is None:
        with pytest.raises(InputError) as refused:
            read(path)
        assert str(path) in str(refused.value) and case.said in str(refused.value)
        assert str(refused.value).isprintable()
        return
    queue = read(path)
    assert len(queue.jobs) == case.left
    assert any(case.said in sentence for sentence in queue.audit), queue.audit
    assert all(sentence.isprintable() for sentence in queue.audit)
    assert all(job.gpus >= 1 and job.duration_s > 0 and job.end_s >= job.start_s >= job.submit_s for job in queue.jobs)
    assert len({job.id for job in queue.jobs}) == len(queue.jobs)


@pytest.mark.parametrize("name", ROWS)
def test_damaged_dumps_of_slurm(name: str, tmp_path: Path) -> None:
    check(ROWS[name], SOURCES["slurm"].read, tmp_path / "sacct.txt")


@pytest.mark.parametrize("name", CELLS)
def test_damaged_tables(name: str, tmp_path: Path) -> None:
    check(CELLS[name], lambda path: SOURCES["csv"].read(path, columns=COLUMNS), tmp_path / "jobs.csv")


@pytest.mark.parametrize("source", READ)
def test_no_reader_takes_what_is_no_file_of_its_kind(source: str, tmp_path: Path) -> None:
    """Nothing, noise, a page of HTML, another's table: refused with the file's name, never a crash."""
    options = {"columns": COLUMNS} if source == "csv" else {}
    path = tmp_path / "file"
    noise = bytes(range(256)) * 50
    for content in (b"", noise, b"<html><body>404</body></html>\n", b"x,y\n1,2\n", b"{}", b"[[]]", b"\xff\xfea"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=re.escape(str(path))):
            SOURCES[source].read(path, **options)
