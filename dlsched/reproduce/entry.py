"""The record of a reproduction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.reproduce.findings import Findings
from dlsched.study.rows import Row


@dataclass(frozen=True, slots=True)
class Trace:
    """A public file that an entry takes with ``--trace``: its name and its origin."""

    file: str
    origin: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A reproduction of a paper's figure.

    Parameters
    ----------
    name
        Name on the command line, and of the plan's file.
    paper
        The paper, and which parts of it were read.
    what
        What is run anew, in a few words.
    comparable
        Which results can be compared with the paper's numbers.
    differs
        What differs from the paper, a paragraph each.
    find
        Maps the rows of the study to the figure and its conclusions.
    quick
        What ``--quick`` changes, an entry for each of ``[[instances]]``.
    seconds, quick_seconds
        Approximate run times on two cores.
    trace
        The public file that the entry is about, which dlsched does not contain; None: none. Without the
        file, ``<name>-drawn`` runs.
    quick_drawn
        As ``quick``, for runs without the file.
    instead
        A sentence on the instances that are drawn without the file.
    """

    name: str
    paper: str
    what: str
    comparable: str
    differs: Sequence[str]
    find: Callable[[Sequence[Row]], Findings]
    quick: Sequence[Mapping[str, Json]]
    seconds: int
    quick_seconds: int
    trace: Trace | None = None
    quick_drawn: Sequence[Mapping[str, Json]] = ()
    instead: str = ""
