"""Readers of cells and fields as figures and times; unreadable ones raise `Damaged`, and their row is left out."""

import functools
import itertools
import math
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

from dlsched.core.errors import UsageError
from dlsched.traces.queue import Audit, QueuedJob

MISSING: Final = frozenset({"", "-", "--", "none", "(none)", "null", "(null)", "nil", "nan", "na", "n/a", "unknown"})
"""Words for a missing value, in lower case."""

# Largest credible figure of a queue, at which floats are still an eighth apart: fractions of a second survive
LARGEST: Final = 1e15
# Most names in a list of nodes, or tasks of an array: a list of a few characters could name billions
LARGEST_LIST: Final = 100_000


class Damaged(Exception):  # noqa: N818  says what happened to the row
    """A row or object is no valid job: the reason, as a clause of the audit, and the found value."""

    def __init__(self, reason: str, found: object = None) -> None:
        super().__init__(reason)
        self.reason, self.found = reason, found


def number(text: str, column: str) -> float | None:
    """Read a finite number; None for words that say nothing. Damaged: thousands separators, infinities, other words."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        if text.strip().casefold() in MISSING:
            return None
        raise Damaged(f"entries whose {column} is not a number, left out", text) from None
    if abs(value) <= LARGEST and "_" not in text:
        return value
    if math.isnan(value):
        return None
    raise Damaged(f"entries whose {column} is not a number, left out", text)


_SPAN = re.compile(r"(?:(\d{1,6})-)?(\d{1,7})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d*)?))?")


def span(text: str, column: str) -> float | None:
    """Read ``[days-]hours:minutes:seconds`` or ``minutes:seconds`` as seconds, or a number as it is; None: nothing is said."""
    if ":" not in text and not re.fullmatch(r"\d+-\d+", text):
        return number(text, column)
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise Damaged(f"entries whose {column} is not a duration, left out", text)
    days, *parts = (float(part) if part else None for part in found.groups())
    figures = [part for part in parts if part is not None]
    if days is None and len(figures) == 2:
        figures = [0.0, *figures]
    hours, minutes, seconds = (*figures, 0.0, 0.0)[:3]
    return 86400 * (days or 0) + 3600 * hours + 60 * minutes + seconds


def devices(amount: float) -> int:
    """GPUs that an amount of GPUs occupies, a fraction on one of its own; Damaged: below 0, or more than any cluster has."""
    if amount < 0 or amount > 1e6:
        raise Damaged("entries with an impossible number of GPUs, left out", amount)
    return math.ceil(round(amount, 9))


def share_of(parts: float, gpus: int) -> float:
    """Share that is taken of each of the GPUs; 1 if the rest is a rounding error, or there are none."""
    return parts / gpus if gpus and parts < gpus - 1e-9 else 1.0


_PART = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")


@functools.lru_cache(maxsize=65536)
def node_names(text: str) -> tuple[str, ...]:
    """Names in a list of nodes in Slurm's format, as ``node[01-03,7],login``; empty if none are stated or assigned.

    Damaged: brackets that do not close, ranges that do not rise, more names than any cluster has.
    """
    if text.strip().casefold() in MISSING or text.strip() == "None assigned":
        return ()
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text.strip()):
        pieces = _PART.findall(part)
        if "".join(pieces) != part or not part:
            raise Damaged("lists of nodes that cannot be read", text)
        choices = [numbers(piece[1:-1], text) if piece[0] == "[" else (piece,) for piece in pieces]
        if len(names) + math.prod(map(len, choices)) > LARGEST_LIST:
            raise Damaged("lists of nodes that cannot be read", text)
        names += map("".join, itertools.product(*choices))
    return tuple(names)


def nodes_of(text: str, audit: Audit, line: int) -> tuple[str, ...]:
    """Names in a list of nodes; none, with a note in the audit, if the list cannot be read."""
    try:
        return node_names(text)
    except Damaged as damage:
        audit.note(f"{damage.reason}, treated as missing", line, damage.found)
        return ()


def numbers(ranges: str, text: str) -> list[str]:
    """Numbers of ``01-03,7,10-20:5``, of the width in which they are written; ``text`` is what an error shows."""
    found: list[str] = []
    for each in ranges.split(","):
        ends = _RANGE.fullmatch(each.strip())
        low, high, step = (ends[1], ends[2] or ends[1], int(ends[3] or 1)) if ends else ("", "", 0)
        if not step or int(high) < int(low) or (int(high) - int(low)) // step >= LARGEST_LIST:
            raise Damaged("lists of numbers that cannot be read", text)
        found += (str(value).zfill(len(low)) for value in range(int(low), int(high) + 1, step))
        if len(found) > LARGEST_LIST:
            raise Damaged("lists of numbers that cannot be read", text)
    return found


ZONES: Final = {
    word: timezone(timedelta(hours=hours)) for word, hours in {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}.items()
}
"""Zones that traces write as words; others are ambiguous."""

START: Final = datetime(1970, 1, 1)  # of the count of seconds; times without a zone are taken as UTC
UNSET: Final = ("0001-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00")  # programs write these for no time


@dataclass
class Moments:
    """Reads the times of one file, all dates or all numbers, and counts those with a zone and those without.

    ``unit_s``: seconds of a unit where times are numbers. ``numbers_are_dates``: numbers are seconds since 1970.
    ``zone``: that of dates without one; None: they are taken as they are.
    """

    unit_s: float = 1.0
    numbers_are_dates: bool = False
    dates: int = 0
    zoned: int = 0
    plain: int = 0
    zone: ZoneInfo | None = None
    _later: dict[float | None, float] = field(default_factory=dict)  # of times shown twice the second, by the first
    _doubtful: int = 0

    def read(self, text: str, column: str) -> float | None:
        """Seconds since 1970, UTC, or on the trace's own clock; None: nothing is said. Damaged: no time, numbers among dates."""
        if text[4:5] != "-":
            text = text.strip()
        # Most entries are dates: they are recognised first, without folding case.
        if text[4:5] == "-" and text[:4].isdigit():
            return None if text.startswith(UNSET) else self._date(text, column)
        if text.casefold() in MISSING:
            return None
        try:
            value = number(text, column)
        except Damaged:
            raise Damaged(f"entries whose {column} is not a time, left out", text) from None
        if value is None:
            return None
        self.plain += 1
        if self.dates:
            raise Damaged(f"entries whose {column} is a number among dates, left out", text)
        return value * self.unit_s

    def arrival(self, text: str, column: str) -> float:
        """Seconds as ``read``, NaN where nothing is said."""
        found = self.read(text, column)
        return math.nan if found is None else found

    def _date(self, text: str, column: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = self._with_word(text, column)
        if self.plain and not self.dates:
            raise Damaged(f"entries whose {column} is a date among numbers, left out", text)
        self.dates += 1
        if moment.tzinfo is None:
            if self.zone is None:
                return (moment - START).total_seconds()
            first_s, second_s = (moment.replace(tzinfo=self.zone, fold=fold).timestamp() for fold in (0, 1))
            if second_s > first_s:
                self._later[first_s] = second_s
            return first_s
        self.zoned += 1
        return moment.timestamp()

    @staticmethod
    def _with_word(text: str, column: str) -> datetime:
        head, _, word = text.rstrip().rpartition(" ")
        try:
            return datetime.fromisoformat(head or text.rstrip()).replace(tzinfo=ZONES[word] if head else None)
        except (ValueError, KeyError):
            raise Damaged(f"entries whose {column} is not a time, left out", text) from None

    def settled(self, job: QueuedJob) -> QueuedJob:
        """Of times that the clocks show twice choose those of the stated duration, in order, and nearest to each other."""
        times_s = (job.submit_s, job.eligible_s, job.start_s, job.end_s)
        if self._later.keys().isdisjoint(times_s):
            return job

        def misfit(chosen: tuple[float | None, ...]) -> tuple[float, ...]:
            known = [each for each in chosen if each is not None]
            ran_s = 0.0 if None in chosen[2:] else known[-1] - known[-2]
            back_s = sum(max(0.0, one - after) for one, after in itertools.pairwise(known))
            return abs(ran_s - (job.duration_s or ran_s)), back_s, known[-1] - known[0]

        self._doubtful += 1
        best = min(itertools.product(*((each, self._later.get(each, each)) for each in times_s)), key=misfit)
        return job._replace(submit_s=best[0] or 0.0, eligible_s=best[1], start_s=best[2], end_s=best[3])

    @property
    def dated(self) -> bool:
        """Whether times are calendar dates."""
        return self.numbers_are_dates or self.dates > 0

    def sentences(self) -> list[str]:
        """Assumptions on the times."""
        if self.zone and self.dates > self.zoned:
            twice = f"{self._doubtful:,} jobs with times that its clocks show twice by their durations, where stated."
            return [f"Times without a time zone are read as those of {self.zone.key}; {twice}"]
        if self.dates and not self.zoned:
            return ["The times have no time zone and are used as they are, daylight saving included."]
        if self.dates > self.zoned:
            return [f"Warning: {self.dates - self.zoned:,} of {self.dates:,} times have no zone; they are read as UTC."]
        return []


def zone_of(name: str | None) -> ZoneInfo | None:
    """Return a time zone by its name; UsageError: none is known by it."""
    try:
        return None if name is None else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        allowed = "a name such as Europe/Berlin (pip install tzdata where none is known)"
        raise UsageError(where="time_zone", found=repr(name), allowed=allowed) from None


def rounded(value: float) -> float:
    """Round to 6 significant digits."""
    return float(f"{value:.6g}")


_GO = re.compile(r"([0-9]{1,12}(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)")
_GO_S: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def go_duration(text: str) -> float:
    """Read a duration as Go writes it (``1h2m3.5s``), in seconds; Damaged: anything else."""
    parts = _GO.findall(text)
    if "".join(map("".join, parts)) != text or not parts:
        raise Damaged("objects whose duration cannot be read, left out", text)
    return sum(float(figure) * _GO_S[unit] for figure, unit in parts)
