"""Output of the commands: tables on standard output, progress on standard error if that is a terminal, JSON alone."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dlsched.core.limits import Progress, ProgressCallback
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration as duration
from dlsched.core.quantities import number as number
from dlsched.core.quantities import percent as percent
from dlsched.core.status import TerminationStatus

if TYPE_CHECKING:
    from dlsched.proofs.proof import Proof


_PIPE_WIDTH = 200  # columns of a table if no terminal limits it
_TEXT_WIDTH = 12  # least width of a column of text on a narrow terminal
_BETWEEN = 3  # columns of a table
_UNSEEN = re.compile(r"[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control and direction characters that terminals obey, though JSON need not escape them."""


def print_json(data: object) -> None:
    """Print JSON on standard output, with characters that terminals do not show as escapes of the same value."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
    print(_UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text))


def print_audit(audit: Iterable[str]) -> None:
    """Print on standard error what was dropped, repaired or assumed."""
    for sentence in audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), grouped: bool = False
) -> None:
    """Print a table; columns named in ``right`` are aligned to the right; ``grouped``: a line between first entries.

    Folds text on a narrow terminal; a table that is still wider than the terminal is printed whole.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    needed = 0
    rows = [tuple(map(printable, row)) for row in rows]
    # Numbers are never folded, so the table needs their whole width; text may be folded to its least width.
    for name, *cells in zip(map(printable, columns), *rows, strict=True):
        aligned = name in right
        table.add_column(name, justify="right" if aligned else "left", no_wrap=aligned, overflow="fold")
        longest = max(map(cell_len, (name, *cells)))
        needed += _BETWEEN + (longest if aligned else min(longest, _TEXT_WIDTH))
    for row, following in zip(rows, [*rows[1:], None][: len(rows)], strict=True):
        table.add_row(*row, end_section=grouped and following is not None and following[0] != row[0])
    width = Console().width if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=max(width, needed), markup=False, highlight=False, emoji=False).print(table)


@contextmanager
def progress_line(what: str, words: Callable[[Progress], str] | None = None) -> Iterator[ProgressCallback | None]:
    """Show the search's progress, in ``words``, on standard error while it runs, if that is a terminal; else yield None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    what = printable(what)
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what)
        text = words or _progress_text
        yield _throttled(lambda progress: bar.update(task, description=f"{what}: {text(progress)}"))


def _throttled(show: Callable[[Progress], None]) -> ProgressCallback:
    last = 0.0

    def update(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 0.1:
            last = now
            show(progress)

    return update


def _progress_text(progress: Progress) -> str:
    return f"{progress.doing}, objective {number(progress.objective)}, bound {number(progress.bound)}, {progress.nodes} nodes"


def cases(progress: Progress) -> str:
    """Where a proof stands, in words."""
    return f"{progress.doing}, objective {number(progress.objective)}, {several(progress.nodes, 'case')}"


def sentence(proof: "Proof") -> str:
    """What a proof proves, in words."""
    if proof.status is TerminationStatus.INFEASIBLE:
        return "proves that there is no solution"
    if proof.bound is None:
        return "proves no bound"
    if proof.status is TerminationStatus.OPTIMAL:
        return f"proves the optimum {number(proof.objective)} in {several(proof.cases, 'case')}"
    gap = "" if proof.gap is None else f", gap {percent(proof.gap)},"
    return f"proves the bound {number(proof.bound)}{gap} in {several(proof.cases, 'case')}"
