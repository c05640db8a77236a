"""Hypothesis strategy of the cost tables that ``dlsched.allocation`` works on."""

from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable
from dlsched.testing.drawing import numbers


@st.composite
def cost_tables(
    draw: st.DrawFn, *, max_jobs: int = 5, max_pairs: int = 6, max_count: int = 12, whole: bool | None = None
) -> CostTable:
    """Cost tables for ``dlsched.allocation``: any counts, costs of either sign, ties, identical jobs.

    ``whole``: True for whole-numbered costs, False for floats, None for both.
    """
    cost = numbers(-9, 60, whole)
    rows = [
        draw(st.dictionaries(st.integers(1, max_count), cost, min_size=1, max_size=max_pairs))
        for _ in range(draw(st.integers(1, max_jobs)))
    ]
    if draw(st.integers(0, 4)) == 0:
        rows = rows[:1] * len(rows)
    return CostTable.from_rows(rows)
