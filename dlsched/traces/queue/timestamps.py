"""Readers of times in queues: dates with or without a zone, or seconds of the trace's own clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final

from dlsched.traces.queue.cells import MISSING, Damaged, number

ZONES: Final = {
    word: timezone(timedelta(hours=hours)) for word, hours in {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}.items()
}
"""Zones that traces write as words; others are ambiguous."""

START: Final = datetime(1970, 1, 1)
"""Of the count of seconds; times without a zone are taken as UTC."""

UNSET: Final = ("0001-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00")
"""Values that programs write for a time that was never set."""


@dataclass
class Moments:
    """Reads the times of one file, all dates or all numbers, and counts those with a zone and those without.

    Parameters
    ----------
    unit_s
        Seconds of a unit where times are numbers.
    numbers_are_dates
        Numbers are seconds since 1970.
    """

    unit_s: float = 1.0
    numbers_are_dates: bool = False
    dates: int = 0
    zoned: int = 0
    plain: int = 0

    def read(self, text: str, column: str) -> float | None:
        """Seconds since 1970, UTC, or on the trace's own clock; None where nothing is said.

        Raises
        ------
        Damaged
            Anything else, and numbers among dates.
        """
        if text[4:5] != "-":
            text = text.strip()
        if text[4:5] == "-" and text[:4].isdigit():
            return None if text.startswith(UNSET) else self._date(text, column)
        if text.casefold() in MISSING:
            return None
        try:
            value = number(text, column)
        except Damaged:
            raise Damaged(f"entries whose {column} is no time, left out", text) from None
        if value is None:
            return None
        self.plain += 1
        if self.dates:
            raise Damaged(f"entries whose {column} is a number among dates, left out", text)
        return value * self.unit_s

    def _date(self, text: str, column: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = self._with_word(text, column)
        if self.plain and not self.dates:
            raise Damaged(f"entries whose {column} is a date among numbers, left out", text)
        self.dates += 1
        if moment.tzinfo is None:
            return (moment - START).total_seconds()
        self.zoned += 1
        return moment.timestamp()

    @staticmethod
    def _with_word(text: str, column: str) -> datetime:
        head, _, word = text.rstrip().rpartition(" ")
        try:
            return datetime.fromisoformat(head or text.rstrip()).replace(tzinfo=ZONES[word] if head else None)
        except (ValueError, KeyError):
            raise Damaged(f"entries whose {column} is no time, left out", text) from None

    @property
    def dated(self) -> bool:
        """Whether times are calendar dates."""
        return self.numbers_are_dates or self.dates > 0

    def sentences(self) -> list[str]:
        """Assumptions on the times."""
        if self.dates and not self.zoned:
            return ["The times have no time zone and are taken as they are, daylight saving included."]
        if self.dates > self.zoned:
            return [
                f"Warning: {self.dates - self.zoned:,} of {self.dates:,} times have no zone; they are taken as UTC."
            ]
        return []
