"""Figures of cells: what is read, what says nothing, what is damaged."""

import pytest

from dlsched.traces.queue.cells import Damaged, devices, node_names, number, share_of, span


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12.0),
        (" 1.5 ", 1.5),
        ("-3", -3.0),
        ("1e3", 1000.0),
        ("", None),
        ("N/A", None),
        ("Unknown", None),
        ("NaN", None),
    ],
)
def test_numbers(text: str, expected: float | None) -> None:
    assert number(text, "n") == expected


@pytest.mark.parametrize("text", ["1,234", "1 234", "1_000", "inf", "-inf", "1e16", "8 GPUs", "0x10", "12;"])
def test_what_is_no_number(text: str) -> None:
    """Neither thousands separators nor what is beyond belief."""
    with pytest.raises(Damaged, match="entries whose n is no number, left out"):
        number(text, "n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00:00:05", 5.0),
        ("01:30:00", 5400.0),
        ("2-00:00:00", 172800.0),
        ("3-12", 3 * 86400 + 12 * 3600.0),
        ("1-02:30", 86400 + 2.5 * 3600),
        ("05:30.5", 330.5),
        ("7200", 7200.0),
        ("", None),
    ],
)
def test_spans(text: str, expected: float | None) -> None:
    assert span(text, "Elapsed") == expected


@pytest.mark.parametrize("text", ["1:2:3:4", "a:b", ":", "1--2:00:00", "12:00 h"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(Damaged, match="entries whose Elapsed is no length of time"):
        span(text, "Elapsed")


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
        ("a,b", ("a", "b")),
        ("None assigned", ()),
        ("", ()),
        ("(null)", ()),
    ],
)
def test_node_names(text: str, expected: tuple[str, ...]) -> None:
    assert node_names(text) == expected


@pytest.mark.parametrize(
    "text", ["n[1-", "n]1[", "n[3-1]", "n[a-b]", "n[]", "n[0-999999999]", "n[1-400]m[1-400]", "a,,b", "n[1-3:0]"]
)
def test_what_is_no_list_of_nodes(text: str) -> None:
    """Nor one of more names than any cluster has, which is refused before it is made."""
    with pytest.raises(Damaged, match=r"lists of (nodes|numbers) that cannot be read"):
        node_names(text)
