"""What the commands print: tables to standard output, progress to standard error on a terminal, JSON alone."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dlsched.core.limits import Progress, ProgressCallback
from dlsched.core.messages import printable

_PIPE_WIDTH = 200  # columns of a table that no terminal limits
_TEXT_WIDTH = 12  # of a column of text, which a narrow terminal folds no further
_BETWEEN = 3  # columns of a table
_UNSEEN = re.compile(r"[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Controls and marks of direction that JSON need not escape, and terminals obey."""


def print_json(data: object) -> None:
    """Print JSON on standard output; what no terminal shows is escaped, and remains what it is."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
    print(_UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), grouped: bool = False
) -> None:
    """Print a table; columns named in ``right`` are aligned to the right; ``grouped``: a line between first entries.

    Text is folded on a narrow terminal; a table that needs more all the same is wider than it, and loses nothing.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    needed = 0
    rows = [tuple(map(printable, row)) for row in rows]
    for name, *cells in zip(map(printable, columns), *rows, strict=True):
        aligned = name in right
        table.add_column(name, justify="right" if aligned else "left", no_wrap=aligned, overflow="fold")
        longest = max(map(cell_len, (name, *cells)))
        needed += _BETWEEN + (longest if aligned else min(longest, _TEXT_WIDTH))
    for row, following in zip(rows, [*rows[1:], None][: len(rows)], strict=True):
        table.add_row(*row, end_section=grouped and following is not None and following[0] != row[0])
    width = Console().width if sys.stdout.isatty() else _PIPE_WIDTH
    Console(width=max(width, needed), markup=False, highlight=False, emoji=False).print(table)


def number(value: float | None) -> str:
    """Write a figure for people: six significant digits, a dash where it is unknown."""
    return "-" if value is None else f"{value:,.2f}" if 1e2 <= abs(value) < 1e15 else f"{value:.6g}"


def percent(value: float | None) -> str:
    """Write a ratio as per cent; a value that is not 0 never looks like 0."""
    if value is None:
        return "-"
    if value == 0:
        return "0 %"
    return f"{100 * value:.3f} %" if value >= 1e-5 else f"{100 * value:.1e} %"


def seconds(value: float | None) -> str:
    """Write a duration."""
    return "-" if value is None else f"{value:.3f} s"


@contextmanager
def progress_line(what: str, words: Callable[[Progress], str] | None = None) -> Iterator[ProgressCallback | None]:
    """Show the search's progress on standard error while it runs, where that is a terminal; else yield None.

    ``words``: what is said of it, where that is not objective, bound and nodes.
    """
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
