"""Tables of speeds from text."""

from fractions import Fraction

import pytest

from dlsched.core.errors import UsageError
from dlsched.worst.competitive.speeds import speeds_of


def test_fractions_laws_and_several_tables() -> None:
    """By hand: 2^(4/5) is 1.74 to hundredths; a serial half leaves 2 / (1 + 1/2)."""
    assert speeds_of("1,1.8") == ((Fraction(1), Fraction(9, 5)),)
    assert speeds_of("linear; 1,1", 2) == ((Fraction(1), Fraction(2)), (Fraction(1), Fraction(1)))
    assert speeds_of("power:4/5", 2) == ((Fraction(1), Fraction(174, 100)),)
    assert speeds_of("amdahl:1/2", 2) == ((Fraction(1), Fraction(4, 3)),)


@pytest.mark.parametrize(
    ("text", "units", "said"),
    [
        ("1,9/5", 3, "found 2 of them, allowed: 3"),
        ("2,1", None, "that do not fall"),
        ("0,1", None, "positive"),
        ("-1,1", None, "positive"),
        ("nan,1", None, "found 'nan'"),
        ("1,1/0", None, "found '1/0'"),
        ("1e9", None, "found '1e9'"),
        ("1,12345678", None, "found '12345678'"),
        ("", None, "found ''"),
        ("cubic:3", 2, "found 'cubic:3'"),
        ("power:2", 2, "P from 0 to 1"),
        ("linear:2", 2, "without a number"),
        ("linear", None, "gpus: found none"),
        ("linear", 1000, "gpus: found 1000"),
        ("1;1;1;1;1", None, "at most 4"),
    ],
)
def test_what_is_refused(text: str, units: int | None, said: str) -> None:
    """Located, with what is allowed."""
    with pytest.raises(UsageError, match=said):
        speeds_of(text, units)
