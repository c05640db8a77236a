"""Names that would break a figure or mean something to Matplotlib are written as they are, or escaped, or shortened."""

import pytest

pytest.importorskip("matplotlib")

from dlsched.core.quantities import time_unit
from dlsched.plots.words import equal_names, labels, plain, short, ticks


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a_b^c $x$ \\frac{1}", "a_b^c $x$ \\frac{1}"),
        ("two\nlines\ttab", "two\\nlines\\ttab"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\u202edrow", "\\u202edrow"),
        ("\ud800", "\\ud800"),
        ("é ü λ", "é ü λ"),
        ("\u4e2d\U0001f600", "\\u4e2d\U0001f600"),
    ],
)
def test_names_are_plain(name, shown):
    """Control characters, directions, halves of a surrogate and letters that the font lacks are escaped, others kept."""
    assert plain(name) == shown


def test_long_names_keep_both_ends():
    """Names longer than allowed lose their middle; those that then look the same are numbered."""
    assert short("j" * 40) == "j" * 14 + "…" + "j" * 13
    assert labels(["a" * 40, "a" * 41, "b"], 5) == {"a" * 40: "aa…aa", "a" * 41: "aa…aa (2)", "b": "b"}


def test_equal_names_are_counted_where_they_do_not_fit():
    """As many names as fit into the lines, and the number of the rest; one that is too long is cut."""
    assert equal_names(["exact", "milp"], 20) == "exact = milp"
    assert equal_names(["exact", "milp", "dp"], 12, 2) == "exact = milp\n= dp"
    assert equal_names(["exact", "milp", "dp"], 16, 1) == "exact = 2 more"
    assert equal_names(["m" * 50, "n"], 10, 1) == "mmmmm…mmmm\n= 1 more"
    assert equal_names(["m" * 50], 10) == "mmmmm…mmmm"
    assert equal_names(["srpt-equal", "srpt-fixed"], 12) == "srpt-equal =\nsrpt-fixed"


def test_ticks_are_few_and_within():
    """Between 1 and 1e40 eight at most; within a decade several; never outside."""
    assert ticks(1, 5) == [1, 1.5, 2, 3, 5]
    assert ticks(0.3, 40) == [0.5, 1, 2, 5, 10, 20]
    assert len(ticks(1, 1e40)) <= 8
    assert all(3e-7 <= tick <= 2e9 for tick in ticks(3e-7, 2e9))


def test_units_of_time():
    """Two days, two hours, five minutes."""
    assert [time_unit(span)[0] for span in (299, 300, 7_200, 172_800)] == ["s", "min", "h", "days"]
