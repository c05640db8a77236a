"""Times: dates with and without zones, numbers, what was never set; and what the audit says of zones."""

import pytest

from dlsched.traces.queue.cells import Damaged
from dlsched.traces.queue.timestamps import Moments

NOON_S = 17440 * 86400.0 + 43200  # 2017-10-01T12:00:00Z


@pytest.mark.parametrize(
    "text",
    [
        "2017-10-01T12:00:00",
        "2017-10-01 12:00:00",
        " 2017-10-01 12:00 ",
        "2017-10-01T12:00:00Z",
        "2017-10-01 20:00:00+08:00",
        "2017-10-01T20:00:00+0800",
        "2017-10-01 12:00:00 UTC",
        "2017-10-01 05:00:00 PDT",
        "2017-10-01 04:00:00 PST",
        "2017-10-01T12:00:00.000000",
    ],
)
def test_dates(text: str) -> None:
    moments = Moments()
    assert moments.read(text, "t") == NOON_S
    assert moments.dated


@pytest.mark.parametrize("text", ["", "Unknown", "None", "N/A", "nan", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00"])
def test_what_says_nothing(text: str) -> None:
    assert Moments().read(text, "t") is None


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2017-13-01",
        "2017-02-30T00:00:00",
        "2017-10-01 12:00:00 CST",
        "01/10/2017",
        "12:00:00",
        "inf",
        "1,506",
        "2017-",
    ],
)
def test_what_is_no_time(text: str) -> None:
    """Neither dates that are not, nor zones that may be several."""
    with pytest.raises(Damaged, match="entries whose t is no time, left out"):
        Moments().read(text, "t")


def test_numbers_are_the_traces_own_clock() -> None:
    """In a unit; a file does not mix them with dates."""
    hours = Moments(unit_s=3600.0)
    assert hours.read("1.5", "t") == 5400.0 and not hours.dated and hours.sentences() == []
    with pytest.raises(Damaged, match="a date among numbers"):
        hours.read("2017-10-01", "t")
    dates = Moments()
    dates.read("2017-10-01", "t")
    with pytest.raises(Damaged, match="a number among dates"):
        dates.read("5", "t")


def test_what_is_said_of_zones() -> None:
    """Nothing where all have one; an assumption where none has; a warning where some have."""
    moments = Moments()
    moments.read("2017-10-01T12:00:00Z", "t")
    assert moments.sentences() == []
    moments.read("2017-10-01T12:00:00", "t")
    assert moments.sentences() == ["Warning: 1 of 2 times have no zone; they are taken as UTC."]
    plain = Moments()
    plain.read("2017-10-01T12:00:00", "t")
    assert plain.sentences() == ["The times have no time zone and are taken as they are, daylight saving included."]
