"""The space of ring_allocation: classes of tables, projections, options, and the worst instances known by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.elementary import four_digits
from dlsched.families import instance_from
from dlsched.ring_allocation import Job
from dlsched.solving import solve
from dlsched.worst.search import find_worst
from dlsched.worst.spaces import CLASSES, COUNTS, drawn, offered, projected, table_of, tabulated
from dlsched.worst.spaces.ring_allocation import space_of
from tests.worst.conftest import holds, walk


@pytest.mark.parametrize("tables", CLASSES)
@pytest.mark.parametrize("counts", COUNTS)
def test_a_walk_stays_in_the_space(tables: str, counts: str) -> None:
    """Tables of the class on the first counts, one epoch a job, at most 3 jobs; the walk comes about."""
    space = space_of(jobs=3, gpus=9, tables=tables, counts=counts)
    met = walk(space, 30)
    for data, _ in met:
        assert 1 <= len(data["jobs"]) <= 3
        assert data["gpus"] == 9
        for job in data["jobs"]:
            table = table_of(job)
            assert holds(tables, table)
            first = [1, 2, 4, 8] if counts == "powers" else list(range(1, 10))
            assert list(table) == first[: len(table)]
            assert job["epochs"] == 1
    assert len({repr(data) for data, _ in met}) > 10


@pytest.mark.parametrize("preset", ["mixed", "table", "concave", "adversarial"])
def test_jobs_of_presets_are_brought_into_the_space(preset: str) -> None:
    """The slowest takes 1000 s; the same seed draws the same."""
    space = space_of(jobs=2, preset=preset)
    data = space.draw(np.random.default_rng(1))
    assert max(max(table_of(job).values()) for job in data["jobs"]) == 1000
    assert data == space.repair(data) == space.draw(np.random.default_rng(1))


def test_few_gpus_few_jobs() -> None:
    """Every job has a GPU, so there always is an answer."""
    space = space_of(gpus=1)
    assert space.members == [("jobs", 1, 1)]
    assert len(space.draw(np.random.default_rng(0))["jobs"]) == 1


def test_jobs_are_named_in_their_order() -> None:
    """Whatever moves called them; no jobs, or too many, are no instance."""
    space = space_of(jobs=2)
    job = {"epoch_time_s": {"1": 4.0, "2": 3.0}}
    data = space.repair({"jobs": [job | {"id": "n7"}, job | {"id": "a", "weight": 3.0}]})
    assert data is not None
    assert [list(each.items())[:2] for each in data["jobs"]] == [
        [("id", "a"), ("epochs", 1.0)],
        [("id", "b"), ("epochs", 1.0)],
    ]
    assert space.repair({"jobs": []}) is None
    assert space.repair({"jobs": [job] * 3}) is None


def test_the_known_family_is_in_the_space() -> None:
    """C = 2^k + 1, a perfect job and one listed before it that gains as much by its second GPU: 2 - ... as k grows.

    For k = 4, with A = 256: g = 2, so doubling takes 2 + 32 s, the optimum 4 + 16 s: 17/10.
    """
    perfect = {"epoch_time_s": {str(2**power): 256 / 2**power for power in range(5)}}
    small = {"epoch_time_s": {"1": 4.0, "2": 2.0}}
    data = space_of().repair({"jobs": [small, perfect]})
    assert data is not None
    assert [table_of(job) for job in data["jobs"]] == [{1: 4, 2: 2}, {1: 256, 2: 128, 4: 64, 8: 32, 16: 16}]
    instance = instance_from(data, "known")
    objectives = [solve(instance, method=method).objective for method in ("doubling", "marginal", "hull", "exact")]
    assert objectives == [34, 34, 34, 20]


def test_a_short_search_finds_it() -> None:
    """Two jobs on 17 GPUs: at least 1.65 of at most 17/10 in 300 evaluations, an answer that no guarantee forbids."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, budget=300, seed=0)
    assert worst.ratio is not None
    assert 1.65 <= worst.ratio <= 1.7 + 1e-9
    assert not worst.failures


def test_the_search_is_no_better_than_a_study_of_a_preset() -> None:
    """On instances of ``mixed``, which are in the space of any tables on all counts, marginal takes 2.09 times the optimum."""
    worst = find_worst("ring_allocation", "marginal", tables="any", counts="all", budget=200)
    assert worst.found is not None and worst.found >= 2.09


@pytest.mark.parametrize(("tables", "least"), [("monotone", 50.0), ("sublinear", 4.0)])
def test_a_plateau_stalls_marginal(tables: str, least: float) -> None:
    """As slow on two GPUs as on one: it never looks further, whatever four would bring."""
    worst = find_worst("ring_allocation", "marginal", jobs=1, gpus=8, budget=300, tables=tables)
    assert worst.ratio is not None
    assert worst.ratio >= least - 1e-9


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
