"""Draws that the strategies of several families share: jobs, alike or not, and numbers with and without ties."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from dlsched.core.ranges import NOTHING, Range

Data: TypeAlias = dict[str, Any]
"""Fields of an instance's file."""


def several(draw: st.DrawFn, kind: st.SearchStrategy[Data], number: int) -> list[Data]:
    """Draw ``number`` jobs of a kind, sometimes all equal."""
    identical = draw(st.integers(0, 5)) == 0
    return [draw(kind)] * number if identical else [draw(kind) for _ in range(number)]


def named(jobs: Sequence[Data]) -> list[Data]:
    """Jobs with ids by their position."""
    return [{"id": f"j{index}", **job} for index, job in enumerate(jobs)]


def odd(low: float, high: float, digits: int = 6) -> st.SearchStrategy[float]:
    """Draw numbers from ``low`` to ``high`` with few digits."""
    return st.floats(low, high, allow_subnormal=False).map(lambda value: float(f"{value:.{digits}g}"))


def values(drawn: Range, digits: int = 6) -> st.SearchStrategy[float]:
    """Draw test values of a range: ties, edges, and numbers in between with so many digits."""
    few = [st.just(*each) if len(each) == 1 else st.sampled_from(each) for each in (drawn.ties, drawn.edges) if each]
    kinds = few if drawn.tested == NOTHING else [*few, odd(*drawn.tested, digits)]
    return st.one_of(*kinds) if len(kinds) > 1 else kinds[0]


def whole_numbers(drawn: Range) -> st.SearchStrategy[int]:
    """Draw test values of a range of whole numbers."""
    low, high = drawn.tested
    return st.integers(int(low), int(high))


def numbers(low: float, high: float, whole: bool | None) -> st.SearchStrategy[float]:
    """Numbers from one whole number to another: whole ones, of which many tie; floats in between; None: either."""
    low, high = int(low), int(high)
    integers = st.integers(low, high).map(float)
    if whole is not None:
        return integers if whole else odd(low, high)
    few = st.integers(low, min(high, low + 3)).map(float)
    return st.one_of(few, integers, odd(low, high))
