"""A table as data, and cells that a spreadsheet does not run."""

import pytest

from dlsched.core.display import csv_text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "-x"])
def test_formulas_become_text(text: str) -> None:
    """By an apostrophe, as spreadsheets write it."""
    assert csv_text(text) == f"'{text}"


def test_controls_become_text() -> None:
    """A tab or carriage return before a formula too."""
    assert csv_text("\t=1") == "'\\t=1"
    assert csv_text("a\x1b[31m") == "a\\x1b[31m"


@pytest.mark.parametrize("value", ["a=b", "-", "", "x-1", -2.5, 3, None])
def test_others_stay(value: object) -> None:
    """Numbers are numbers, and a dash alone is a dash."""
    assert csv_text(value) is value or csv_text(value) == value
