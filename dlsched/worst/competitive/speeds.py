"""Tables of speeds from text: fractions, or a law."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from dlsched.core.elementary import float_power
from dlsched.core.errors import UsageError

LARGEST = 10**6
"""Largest numerator and denominator of a speed."""
MOST_TABLES, MOST_UNITS = 4, 64
_HUNDRED = 100


def power(units: int, exponent: Fraction) -> Fraction:
    """n^p, rounded to hundredths."""
    return Fraction(round(_HUNDRED * float_power(float(units), float(exponent))), _HUNDRED)


def amdahl(units: int, serial: Fraction) -> Fraction:
    """1 / (f + (1 - f) / n), exactly, f the serial part (Amdahl 1967)."""
    return 1 / (serial + (1 - serial) / units)


_LAWS: dict[str, Callable[[int, Fraction], Fraction]] = {"power": power, "amdahl": amdahl}


def speeds_of(text: str, units: int | None = None) -> tuple[tuple[Fraction, ...], ...]:
    """Read tables of speeds on 1, 2, ... units.

    Parameters
    ----------
    text
        As many fractions or decimals as there are units, ``1,9/5,5/2,31/10``; or ``linear``, ``power:4/5`` (rounded to
        hundredths) or ``amdahl:1/10``; several tables separated by ``;``.
    units
        Units of the cluster; None: as many as the first table has fractions.

    Raises
    ------
    UsageError
        The text is none of these, speeds fall or are not above 0, or there are more than 4 tables or 64 units.

    >>> speeds_of("1,9/5"), speeds_of("amdahl:1/2", 2)
    (((Fraction(1, 1), Fraction(9, 5)),), ((Fraction(1, 1), Fraction(4, 3)),))
    """
    tables = []
    for part in text.split(";"):
        name, _, argument = part.strip().partition(":")
        if name == "linear" or name in _LAWS:
            if units is None:
                raise UsageError(where="gpus", found="none", allowed="a number of units, for a law of speeds")
            _require_units(units)
            tables.append(_of_law(part, name, argument, units))
        else:
            tables.append(tuple(_number(each) for each in part.split(",")))
            units = len(tables[-1]) if units is None else units
    if len(tables) > MOST_TABLES:
        raise UsageError(where="speeds", found=f"{len(tables)} tables", allowed=f"at most {MOST_TABLES}")
    for table in tables:
        _require(table, units or 0)
    return tuple(tables)


def _of_law(part: str, name: str, argument: str, units: int) -> tuple[Fraction, ...]:
    if name == "linear":
        if argument:
            raise UsageError(where="speeds", found=repr(part), allowed="linear, without a number")
        return tuple(Fraction(n) for n in range(1, units + 1))
    value = _number(argument)
    if not 0 <= value <= 1:
        raise UsageError(where="speeds", found=repr(part), allowed=f"{name}:P with P from 0 to 1")
    return tuple(_LAWS[name](n, value) for n in range(1, units + 1))


def _number(text: str) -> Fraction:
    try:
        value = Fraction(text.strip()) if len(text) < len(str(LARGEST)) * 3 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or max(abs(value.numerator), value.denominator) > LARGEST:
        allowed = f"fractions or decimals of at most {LARGEST}, linear, power:P or amdahl:F"
        raise UsageError(where="speeds", found=repr(text[:40]), allowed=allowed)
    return value


def _require_units(units: int) -> None:
    if not 1 <= units <= MOST_UNITS:
        raise UsageError(where="gpus", found=units, allowed=f"1 to {MOST_UNITS}")


def _require(table: tuple[Fraction, ...], units: int) -> None:
    _require_units(units)
    if len(table) != units:
        raise UsageError(
            where="speeds", found=f"{len(table)} of them", allowed=f"{units}, one for each number of units"
        )
    if table[0] <= 0 or any(after < before for before, after in pairwise(table)):
        found = ", ".join(map(str, table[:8]))
        raise UsageError(where="speeds", found=found, allowed="positive ones that do not fall")
