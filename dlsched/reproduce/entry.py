"""The record of a reproduction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.reproduce.findings import Findings
from dlsched.study.rows import Row


@dataclass(frozen=True, slots=True)
class Trace:
    """A public file that an entry takes with ``--trace``: its name, and where it is from."""

    file: str
    origin: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure of a paper that is run anew.

    Parameters
    ----------
    name
        On the command line, and of its plan's file.
    paper
        The paper, and what of it was read.
    what
        What is run anew, in a few words.
    comparable
        What can be held against the paper's numbers.
    differs
        What differs from the paper, a paragraph each.
    find
        From the rows of the study to the figure and what it says.
    quick
        What ``--quick`` changes, an entry for each of ``[[instances]]``.
    seconds, quick_seconds
        On two cores, roughly.
    trace
        The file that it is about, which is no part of dlsched; None: there is none. Without it ``<name>-drawn`` is run.
    quick_drawn
        As ``quick``, without the file.
    instead
        What is drawn without the file, in a sentence.
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
