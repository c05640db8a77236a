"""The reproductions by name, and the plan of each at a size."""

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from dlsched.core.errors import UsageError
from dlsched.reproduce.findings import Entry
from dlsched.reproduce.gadget import FIG4, FIG7
from dlsched.reproduce.schedulers import PHILLY, SAMPLING
from dlsched.reproduce.streams import GRID, PATTERNS, TREND
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import plan_from
from dlsched.study.rows import Row

PLANS = Path(__file__).parent / "plans"
ENTRIES: Mapping[str, Entry] = {entry.name: entry for entry in (FIG4, FIG7, TREND, PATTERNS, PHILLY, GRID, SAMPLING)}


def entry_named(name: str) -> Entry:
    """Return a reproduction; UsageError: there is none of that name."""
    if name not in ENTRIES:
        raise UsageError(where="name", found=repr(name), allowed=", ".join(ENTRIES))
    return ENTRIES[name]


def plan_of(entry: Entry, *, quick: bool = False, trace: str | os.PathLike[str] | None = None) -> Plan:
    """Return the plan of a reproduction, at the quick size or not.

    ``trace``: path of its public file, None: instances are drawn.

    UsageError: the entry is about no public file. InputError: the file cannot be read.
    """
    if trace is not None and entry.trace is None:
        raise UsageError(where="trace", found=repr(os.fspath(trace)), allowed=f"no such option for {entry.name}")
    drawn = entry.trace is not None and trace is None
    path = PLANS / f"{entry.name}{'-drawn' if drawn else ''}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    changes = (entry.quick_drawn if drawn else entry.quick) if quick else ({},) * len(data["instances"])
    sources = [source | dict(change) for source, change in zip(data["instances"], changes, strict=True)]
    if trace is not None:
        sources = [source | {"file": os.path.abspath(trace)} for source in sources]
    return plan_from(data | {"instances": sources}, PLANS)


def differs_of(entry: Entry, *, drawn: bool) -> list[str]:
    """Return what differs from the paper; if an entry about a public file drew its instances, this comes first."""
    if entry.trace is None or not drawn:
        return list(entry.differs)
    return [
        f"This is not about {entry.trace.file}, which is no part of dlsched and was not given: {entry.instead} With "
        f"--trace {entry.trace.file} it is; the file is of {entry.trace.origin}.",
        *entry.differs,
    ]


def unanswered(rows: Iterable[Row]) -> str:
    """Say which cells have no answer; empty if all have one."""
    counts = Counter((row.method, row.status) for row in rows if row.objective is None and row.bound is None)
    return ", ".join(f"{count:,} {status} ({method})" for (method, status), count in counts.items())
