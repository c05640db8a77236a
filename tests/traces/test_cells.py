"""Cells and times of queues: what is read, and what is damage."""

from collections.abc import Callable

import pytest

from dlsched.traces.cells import Damaged, Moments, devices, node_names, number, share_of, span


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("12", 12.0), (" 1.5 ", 1.5), ("-3", -3.0), ("1e3", 1000.0)),
        *((nothing, None) for nothing in ("", "N/A", "Unknown", "NaN")),
    ],
)
def test_numbers(text: str, expected: float | None) -> None:
    assert number(text, "n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("00:00:05", 5.0), ("01:30:00", 5400.0), ("05:30.5", 330.5), ("7200", 7200.0), ("", None)),
        *(("2-00:00:00", 172800.0), ("3-12", 3 * 86400 + 12 * 3600.0), ("1-02:30", 86400 + 2.5 * 3600)),
    ],
)
def test_spans(text: str, expected: float | None) -> None:
    assert span(text, "Elapsed") == expected


def test_devices_and_parts() -> None:
    """A part is on a GPU of its own, also beside whole ones; noise of sums is none."""
    amounts = (0, 0.25, 1, 3, 0.1 * 3 + 0.7 * 1, 3 * 0.7 + 0.9, 2.5)
    assert [devices(amount) for amount in amounts] == [0, 1, 1, 3, 1, 3, 3]
    assert [share_of(amount, devices(amount)) for amount in amounts[1:]] == [0.25, 1.0, 1.0, 1.0, 1.0, 2.5 / 3]
    for amount in (-1, 1e7):
        with pytest.raises(Damaged, match="impossible number of GPUs"):
            devices(amount)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node[01-03,7],login1", ("node01", "node02", "node03", "node7", "login1")),
        ("rack[1-2]n[08-09]", ("rack1n08", "rack1n09", "rack2n08", "rack2n09")),
        ("gpu[098-101]", ("gpu098", "gpu099", "gpu100", "gpu101")),
        ("n[1-5:2]", ("n1", "n3", "n5")),
        *(("a,b", ("a", "b")), ("None assigned", ()), ("", ()), ("(null)", ())),
    ],
)
def test_node_names(text: str, expected: tuple[str, ...]) -> None:
    assert node_names(text) == expected


UNREADABLE = [
    *(
        (number, "entries whose c is not a number", text)
        for text in ("1,234", "1_000", "inf", "1e16", "8 GPUs", "0x10")
    ),
    *((span, "entries whose c is not a duration", text) for text in ("1:2:3:4", "a:b", ":", "1--2:00:00", "12:00 h")),
    *(
        (lambda text, _: node_names(text), "lists of (nodes|numbers) that cannot be read", text)
        for text in (
            "n[1-",
            "n]1[",
            "n[3-1]",
            "n[a-b]",
            "n[]",
            "n[0-999999999]",
            "n[1-400]m[1-400]",
            "a,,b",
            "n[1-3:0]",
        )
    ),
    *(
        (lambda text, column: Moments().read(text, column), "entries whose c is not a time", text)
        for text in ("yesterday", "2017-02-30T00:00:00", "2017-10-01 12:00:00 CST", "01/10/2017", "12:00:00", "1,506")
    ),
]


@pytest.mark.parametrize(("read", "reason", "text"), UNREADABLE)
def test_what_cannot_be_read(read: Callable[[str, str], object], reason: str, text: str) -> None:
    """Neither thousands separators, nor what is beyond belief, nor zones that may be several; huge lists before they are made."""
    with pytest.raises(Damaged, match=reason):
        read(text, "c")


NOON_S = 17440 * 86400.0 + 43200  # 2017-10-01T12:00:00Z


@pytest.mark.parametrize(
    "text",
    [
        *("2017-10-01T12:00:00", "2017-10-01 12:00:00", " 2017-10-01 12:00 ", "2017-10-01T12:00:00.000000"),
        *("2017-10-01T12:00:00Z", "2017-10-01 20:00:00+08:00", "2017-10-01T20:00:00+0800", "2017-10-01 12:00:00 UTC"),
        *("2017-10-01 05:00:00 PDT", "2017-10-01 04:00:00 PST"),
    ],
)
def test_dates(text: str) -> None:
    moments = Moments()
    assert moments.read(text, "t") == NOON_S
    assert moments.dated


@pytest.mark.parametrize("text", ["", "Unknown", "None", "N/A", "nan", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00"])
def test_what_says_nothing(text: str) -> None:
    assert Moments().read(text, "t") is None


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
    assert moments.sentences() == ["Warning: 1 of 2 times have no zone; they are read as UTC."]
    plain = Moments()
    plain.read("2017-10-01T12:00:00", "t")
    assert plain.sentences() == ["The times have no time zone and are used as they are, daylight saving included."]
