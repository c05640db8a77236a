"""What the strategies of several families draw: jobs that are alike or not, and numbers with and without ties."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

Data: TypeAlias = dict[str, Any]
"""Fields of an instance's file."""


def several(draw: st.DrawFn, kind: st.SearchStrategy[Data], number: int) -> list[Data]:
    """``number`` jobs of a kind, now and then all the same."""
    identical = draw(st.integers(0, 5)) == 0
    return [draw(kind)] * number if identical else [draw(kind) for _ in range(number)]


def named(jobs: Sequence[Data]) -> list[Data]:
    """Jobs with ids by their position."""
    return [{"id": f"j{index}", **job} for index, job in enumerate(jobs)]


def odd(low: float, high: float, digits: int = 6) -> st.SearchStrategy[float]:
    """Numbers in between, of few digits."""
    return st.floats(low, high, allow_subnormal=False).map(lambda value: float(f"{value:.{digits}g}"))


def numbers(low: int, high: int, whole: bool | None) -> st.SearchStrategy[float]:
    """Numbers with many ties when whole; floats in between else; None: either."""
    integers = st.integers(low, high).map(float)
    if whole is not None:
        return integers if whole else odd(low, high)
    few = st.integers(low, min(high, low + 3)).map(float)
    return st.one_of(few, integers, odd(low, high))
