"""Suprema: against full enumeration, against random tables, against a formula, and where theory knows them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dlsched import ring_allocation
from dlsched.worst.proving.search import search
from dlsched.worst.proving.setting import Setting

from .enumeration import slow_supremum

METHODS = ("doubling", "marginal", "hull")


def supremum(method: str, jobs: int, gpus: int, tables: str, offered: str) -> Fraction | None:
    return search(Setting("ring_allocation", method, jobs, gpus, tables, offered), lambda programs: None).supremum


@pytest.mark.parametrize("tables", ["any", "monotone", "sublinear", "convex"])
@pytest.mark.parametrize(
    "case",
    [
        ("doubling", 2, 5, "powers"),
        ("doubling", 2, 6, "powers"),
        ("doubling", 2, 5, "all"),
        ("marginal", 2, 4, "all"),
        ("marginal", 2, 5, "all"),
        ("hull", 2, 4, "all"),
        ("hull", 2, 5, "powers"),
        ("hull", 2, 6, "powers"),
    ],
)
def test_as_full_enumeration(case: tuple[str, int, int, str], tables: str) -> None:
    """The same supremum as all runs forwards with all allocations, each by a program."""
    method, jobs, gpus, offered = case
    found = supremum(method, jobs, gpus, tables, offered)
    slow = slow_supremum(method, jobs, gpus, tables, offered)
    assert slow == np.inf if found is None else float(found) == pytest.approx(slow, abs=1e-7)


@pytest.mark.parametrize(
    "case",
    [
        ("doubling", 3, 6, "convex", "powers"),
        ("doubling", 2, 9, "convex", "powers"),
        ("marginal", 3, 5, "convex", "all"),
    ],
)
def test_as_full_enumeration_of_more(case: tuple[str, int, int, str, str]) -> None:
    """Three jobs, and longer runs."""
    assert float(supremum(*case) or 0) == pytest.approx(slow_supremum(*case), abs=1e-7)


@pytest.mark.parametrize("k", range(2, 11))
def test_doubling_on_one_more_than_a_power_of_two(k: int) -> None:
    """(2 + 2^(1-k)) / (1 + 2^(2-k)), the ratio of a known family of instances, is the supremum of two jobs."""
    assert supremum("doubling", 2, 2**k + 1, "convex", "powers") == (2 + Fraction(2, 2**k)) / (1 + Fraction(4, 2**k))


@pytest.mark.parametrize(
    ("gpus", "value"), [(3, "1"), (4, "1"), (6, "1"), (10, "5/4"), (11, "5/4"), (12, "1"), (18, "3/2"), (20, "5/4")]
)
def test_doubling_elsewhere(gpus: int, value: str) -> None:
    """Between, it loses less or nothing (floats found these first)."""
    assert supremum("doubling", 2, gpus, "convex", "powers") == Fraction(value)


@pytest.mark.parametrize(("jobs", "gpus"), [(2, 7), (2, 9), (3, 6)])
def test_marginal_gain_is_optimal_on_convex_tables(jobs: int, gpus: int) -> None:
    """Fox 1966."""
    assert supremum("marginal", jobs, gpus, "convex", "all") == 1


@pytest.mark.parametrize("gpus", [5, 9, 17, 33])
def test_marginal_gain_stalls(gpus: int) -> None:
    """One job has c(1) = c(2) = 1 and c(m) = 2/m at m = C - 1, as at most linear speed allows; the other costs next to 0."""
    assert supremum("marginal", 2, gpus, "sublinear", "powers") == Fraction(gpus - 1, 2)
    assert supremum("marginal", 2, gpus, "monotone", "powers") is None


@pytest.mark.parametrize("gpus", [5, 9, pytest.param(17, marks=pytest.mark.long)])
def test_a_hull_step_that_does_not_fit(gpus: int) -> None:
    """One GPU given first keeps a job from its one step to C - 1, which saves as much per GPU: C - 2 times as much."""
    for tables in ("any", "monotone"):
        assert supremum("hull", 2, gpus, tables, "powers") == gpus - 2


@pytest.mark.parametrize("tables", ["sublinear", "convex"])
@pytest.mark.parametrize("case", list(product(METHODS, [(2, 9), (3, 7)], ["powers", "all"])))
def test_no_random_table_is_worse(case: tuple[str, tuple[int, int], str], tables: str) -> None:
    """The methods themselves on random tables of the class: never above the supremum (and not all at 1)."""
    method, (jobs, gpus), offered = case
    if method == "hull" and offered == "all":
        jobs, gpus = 2, 5
    most = supremum(method, jobs, gpus, tables, offered)
    assert most is not None
    counts = np.array(Setting("ring_allocation", method, jobs, gpus, tables, offered).counts)
    generator = np.random.default_rng(gpus)
    for _ in range(150):
        rows = [random_costs(generator, counts, tables) for _ in range(jobs)]
        names = [f"j{k}" for k in range(jobs)]
        instance = ring_allocation.Instance(
            name="random",
            gpus=gpus,
            jobs=[
                ring_allocation.Job(id=name, epochs=1.0, epoch_time_s=dict(zip(counts.tolist(), row, strict=True)))
                for name, row in zip(names, rows, strict=True)
            ],
        )
        held = getattr(ring_allocation, method)(instance)
        best = min(
            sum(row[k] for row, k in zip(rows, w, strict=True))
            for w in product(range(len(counts)), repeat=jobs)
            if counts[list(w)].sum() <= gpus
        )
        assert ring_allocation.objective(instance, held) <= float(most) * best * (1 + 1e-9)


def random_costs(generator: np.random.Generator, counts: np.ndarray, tables: str) -> list[float]:
    """A table of the class: savings per unit that are drawn, some 0, sorted if they must fall; then what keeps speed linear."""
    slopes = generator.exponential(size=len(counts) - 1) * generator.integers(0, 2, len(counts) - 1)
    slopes *= generator.choice([1.0, 10.0])
    if tables == "convex":
        slopes = -np.sort(-slopes)
    costs = np.concatenate(([0.0], np.cumsum(slopes * np.diff(counts))))
    costs = costs[-1] - costs
    low, high = counts[:-1], counts[1:]
    needed = np.max((low * costs[:-1] - high * costs[1:]) / (high - low), initial=0.0)
    return (costs + max(needed, 0.0) + generator.choice([0.001, 1.0])).tolist()
