"""The reproductions by name, which ``entries.toml`` describes, and the plan of each at a size."""

import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.reproduce import gadget, openb, schedulers, streams
from dlsched.reproduce.findings import Findings
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import plan_from
from dlsched.study.rows import Row

FOLDER = Path(__file__).parent
PLANS = FOLDER / "plans"


@dataclass(frozen=True, slots=True)
class Entry:
    """A reproduction of a paper's figure.

    ``name`` is that of the command line and of the plan's file; ``paper`` says which parts of it were read, ``what`` is run
    anew, ``comparable`` which results can be compared with the paper's numbers; ``differs`` has a paragraph for each
    difference. ``find`` maps the rows of the study to the findings. ``quick`` is what ``--quick`` changes, an entry for each of
    ``[[instances]]``; ``quick_drawn`` the same for runs without the public file ``trace_file``, where ``<name>-drawn`` runs and
    ``instead`` says on which instances. ``seconds`` and ``quick_seconds``: approximate run times on two cores.
    """

    name: str
    find: Callable[[Sequence[Row]], Findings]
    paper: str
    what: str
    comparable: str
    differs: Sequence[str]
    quick: Sequence[Mapping[str, Json]]
    seconds: int
    quick_seconds: int
    trace_file: str = ""
    trace_origin: str = ""
    quick_drawn: Sequence[Mapping[str, Json]] = ()
    instead: str = ""


FIND: Mapping[str, Callable[[Sequence[Row]], Findings]] = {
    "gadget-fig4": gadget.fig4,
    "gadget-fig7": gadget.fig7,
    "capes-trend": streams.trend,
    "capes-patterns": streams.patterns,
    "a-srpt-philly": schedulers.philly,
    "lin-grid": streams.grid,
    "liu-sampling": schedulers.sampling,
    "openb-fragmentation": openb.allocation,
    "openb-optimum": openb.small,
}
_ABOUT = tomllib.loads((FOLDER / "entries.toml").read_text(encoding="utf-8"))
ENTRIES: Mapping[str, Entry] = {name: Entry(name, FIND[name], **about) for name, about in _ABOUT.items()}


def entry_named(name: str) -> Entry:
    """Return a reproduction; UsageError: there is none of that name."""
    if name not in ENTRIES:
        raise UsageError(where="name", found=repr(name), allowed=", ".join(ENTRIES))
    return ENTRIES[name]


def plan_of(entry: Entry, *, quick: bool = False, trace: str | os.PathLike[str] | None = None) -> Plan:
    """Return the plan of a reproduction; ``trace``: path of its public file, None: instances are drawn.

    UsageError: the entry is about no public file. InputError: the file cannot be read.
    """
    if trace is not None and not entry.trace_file:
        raise UsageError(where="trace", found=repr(os.fspath(trace)), allowed=f"no such option for {entry.name}")
    drawn = bool(entry.trace_file) and trace is None
    path = PLANS / f"{entry.name}{'-drawn' if drawn else ''}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    changes = (entry.quick_drawn if drawn else entry.quick) if quick else ({},) * len(data["instances"])
    sources = [source | dict(change) for source, change in zip(data["instances"], changes, strict=True)]
    if trace is not None:
        sources = [source | {"file": os.path.abspath(trace)} for source in sources]
    return plan_from(data | {"instances": sources}, PLANS)


def differs_of(entry: Entry, *, drawn: bool) -> list[str]:
    """Return what differs from the paper; if an entry about a public file drew its instances, this comes first."""
    if not (entry.trace_file and drawn):
        return list(entry.differs)
    return [
        f"This is not about {entry.trace_file}, which is no part of dlsched and was not given: {entry.instead} With "
        f"--trace {entry.trace_file} it is; the file is of {entry.trace_origin}.",
        *entry.differs,
    ]


def unanswered(rows: Iterable[Row]) -> str:
    """Say which cells have no answer; empty if all have one."""
    counts = Counter((row.method, row.status) for row in rows if row.objective is None and row.bound is None)
    return ", ".join(f"{count:,} {status} ({method})" for (method, status), count in counts.items())
