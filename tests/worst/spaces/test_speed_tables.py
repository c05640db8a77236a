"""Classes of tables: what is in them, exactly; projections, by hand and that they end in the class and leave what is in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.elementary import four_digits
from dlsched.ring_allocation import Job
from dlsched.worst.spaces import CLASSES, drawn, holds, offered, projected, tabulated

RISING = {1: 8.0, 2: 9.0}
STALLED = {1: 8.0, 2: 8.0, 4: 1.0}
SUPERLINEAR = {1: 8.0, 2: 3.0}
PLATEAU = {1: 8.0, 2: 8.0, 4: 4.0}
CONVEX = {1: 8.0, 2: 4.0, 4: 2.0}
ON_A_LINE = {1: 8.0, 2: 7.0, 4: 5.0}
HAIR = {1: 0.3, 2: 0.1 + 0.2}  # the sum is above .3 by one unit in the last place


@pytest.mark.parametrize(
    ("table", "classes"),
    [
        (RISING, {"any"}),
        (HAIR, {"any"}),
        (STALLED, {"any", "monotone"}),
        (SUPERLINEAR, {"any", "monotone"}),
        (PLATEAU, {"any", "monotone", "sublinear"}),
        (CONVEX, set(CLASSES)),
        (ON_A_LINE, set(CLASSES)),
    ],
)
def test_classes_hold_exactly(table: dict[int, float], classes: set[str]) -> None:
    """Each class has its own condition, to the last place."""
    assert {name for name in CLASSES if holds(name, table)} == classes


@pytest.mark.parametrize(
    ("tables", "table", "expected"),
    [
        ("any", {1: 0.5, 2: 2000.0}, {1: 1.0, 2: 1000.0}),
        ("monotone", RISING, {1: 8.0, 2: 8.0}),
        ("sublinear", SUPERLINEAR, {1: 8.0, 2: 4.0}),
        ("sublinear", STALLED, {1: 8.0, 2: 8.0, 4: 4.0}),
        ("convex", PLATEAU, {1: 8.0, 2: 8.0, 4: 8.0}),
        ("convex", {1: 9.0, 2: 8.0, 4: 5.0}, {1: 9.0, 2: 8.0, 4: 6.0}),
        ("sublinear", {1: 10.0, 3: 2.0}, {1: 10.0, 3: 3.334}),
    ],
)
def test_projections_by_hand(tables: str, table: dict[int, float], expected: dict[int, float]) -> None:
    """What breaks the class moves to its edge: to the time before, to perfect speed, onto the line; four digits, rounded up."""
    assert projected(tables, table, 1.0, 1000.0) == expected


@given(st.sampled_from(CLASSES), st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9), st.booleans())
@settings(deadline=None)
def test_projections_end_in_the_class_and_stay(tables: str, times: list[float], powers: bool) -> None:
    """Whatever the times, rounded ones too; what is in the class and the range does not change."""
    counts = offered("powers" if powers else "all", 2**8)[: len(times)]
    found = projected(tables, dict(zip(counts, times, strict=True)), 1.0, 1000.0)
    assert holds(tables, found)
    assert all(1 <= time <= 1000 for time in found.values())
    assert projected(tables, found, 1.0, 1000.0) == found
    again = projected(tables, {count: float(f"{time:.2g}") for count, time in found.items()}, 1.0, 1000.0)
    assert holds(tables, again)


@pytest.mark.parametrize("tables", CLASSES)
def test_draws_are_of_the_class_and_no_other(tables: str) -> None:
    """Drawn tables of the larger classes leave the next smaller one now and then."""
    generator = np.random.default_rng(0)
    found = [drawn(generator, tables, offered("powers", 16), 1.0, 1000.0) for _ in range(50)]
    assert all(holds(tables, table) for table in found)
    narrower = CLASSES[CLASSES.index(tables) + 1 :][:1]
    assert all(any(not holds(name, table) for table in found) for name in narrower)


def test_counts_that_are_offered() -> None:
    """Up to the GPUs there are."""
    assert offered("powers", 17) == [1, 2, 4, 8, 16]
    assert offered("powers", 1) == [1]
    assert offered("all", 3) == [1, 2, 3]


def test_jobs_become_tables_on_one_scale() -> None:
    """Epochs times seconds; a count that is missing is as fast as the one before, or as the first."""
    jobs = [
        Job(id="a", epochs=2, epoch_time_s={2: 10.0, 4: 6.0}),
        Job(id="b", epochs=1, epoch_time_s={1: 40.0, 3: 16.0}),
    ]
    assert tabulated(jobs, [1, 2, 3, 4], 400.0) == [
        {1: 200.0, 2: 200.0, 3: 200.0, 4: 120.0},
        {1: 400.0, 2: 400.0, 3: 160.0, 4: 160.0},
    ]
    assert four_digits(1 / 3) == 0.3333
