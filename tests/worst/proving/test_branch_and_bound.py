"""Exact elimination, multipliers in rationals, and suprema against full enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dlsched import ring_allocation
from dlsched.worst.proving.branch_and_bound import RIGHT, Programs, multipliers, search, solution
from dlsched.worst.proving.runs import Rows, Setting
from tests.worst.proving.enumeration import slow_supremum


def equations(*rows: tuple[int, ...]) -> list[dict[int, Fraction]]:
    """Rows of coefficients, the right-hand side last."""
    return [{**{k: Fraction(c) for k, c in enumerate(row[:-1])}, RIGHT: Fraction(row[-1])} for row in rows]


def test_a_system_with_one_solution() -> None:
    """With x + 2 y + z = 8, 3 x - z = 0, y + z = 5, and their sum, by hand: x = 1, y = 2, z = 3."""
    assert solution(equations((1, 2, 1, 8), (3, 0, -1, 0), (0, 1, 1, 5), (4, 3, 1, 13), (0, 0, 0, 0)), 3) == [1, 2, 3]


@pytest.mark.parametrize(
    "rows", [((1, 1, 2),), ((1, 1, 2), (2, 2, 4)), ((1, 1, 2), (1, 1, 3)), ((0, 0, 1), (1, 0, 1), (0, 1, 1)), ()]
)
def test_no_solution_or_many(rows: tuple[tuple[int, ...], ...]) -> None:
    """Both are None."""
    assert solution(equations(*rows), 2) is None


FALLS: Rows = {"falls 0 1": {(0, 1): 1, (0, 2): -1}}
SPEED: Rows = {"speed 0 1": {(0, 2): 2, (0, 1): -1}}
HELD, BEST = [(0, 1)], [(0, 2)]


def test_a_program_by_hand() -> None:
    """One job, c(1) / c(2) is at most 2 where no speed is beyond linear: y = 1 of 2 c(2) - c(1) >= 0."""
    answer = Programs([(0, 1), (0, 2)], FALLS).worst(HELD, BEST, SPEED)
    assert answer.value == pytest.approx(2)
    assert multipliers(HELD, BEST, FALLS | SPEED, answer.duals) == (2, {"speed 0 1": 1})


def test_a_program_without_bound() -> None:
    """Without that row c(2) may be 0."""
    assert Programs([(0, 1), (0, 2)], FALLS).worst(HELD, BEST, {}).value == np.inf


def test_floats_that_prove_nothing() -> None:
    """A multiplier that is too small leaves a part of c(1)."""
    assert multipliers(HELD, BEST, FALLS | SPEED, {"speed 0 1": 0.5}, Fraction(3)) is None
    assert multipliers(HELD, BEST, FALLS, {}, Fraction(3)) is None
    assert multipliers(HELD, BEST, FALLS | SPEED, {"speed 0 1": -1.0}, Fraction(3)) is None


def test_noise_of_floats_is_removed() -> None:
    """Rounding to short fractions, and where m has to be least, the equations that the floats meet."""
    noisy = {"speed 0 1": 1.0 - 1e-13}
    assert multipliers(HELD, BEST, SPEED, noisy, Fraction(2)) == (2, {"speed 0 1": 1})
    assert multipliers(HELD, BEST, SPEED, noisy) == (2, {"speed 0 1": 1})


def test_more_than_is_of_use_is_none() -> None:
    """With m = 2 it does not prove 3/2."""
    assert multipliers(HELD, BEST, SPEED, {"speed 0 1": 1.0}, Fraction(3, 2)) is None


def test_whether_a_table_satisfies_rows() -> None:
    """Signs, but for rounding."""
    programs = Programs([(0, 1), (0, 2)], {})
    assert programs.holds(np.array([1.0, 1.0 + 1e-12]), FALLS)
    assert not programs.holds(np.array([1.0, 1.1]), FALLS)


METHODS = ("doubling", "marginal", "hull")


def supremum(method: str, jobs: int, gpus: int, tables: str, offered: str) -> Fraction | None:
    return search(Setting("ring_allocation", method, jobs, gpus, tables, offered), lambda programs: None).supremum


CASES = [
    (*case, tables)
    for case in (
        *(("doubling", 2, 5, "powers"), ("doubling", 2, 6, "powers"), ("doubling", 2, 5, "all")),
        *(("marginal", 2, 4, "all"), ("marginal", 2, 5, "all")),
        *(("hull", 2, 4, "all"), ("hull", 2, 5, "powers"), ("hull", 2, 6, "powers")),
    )
    for tables in ("any", "monotone", "sublinear", "convex")
]
LARGER = [
    *(("doubling", 3, 6, "powers", "convex"), ("doubling", 2, 9, "powers", "convex")),
    ("marginal", 3, 5, "all", "convex"),
]


@pytest.mark.parametrize(("method", "jobs", "gpus", "offered", "tables"), [*CASES, *LARGER])
def test_as_full_enumeration(method: str, jobs: int, gpus: int, offered: str, tables: str) -> None:
    """The same supremum as all runs forwards with all allocations, each by a program."""
    found = supremum(method, jobs, gpus, tables, offered)
    slow = slow_supremum(method, jobs, gpus, tables, offered)
    assert slow == np.inf if found is None else float(found) == pytest.approx(slow, abs=1e-7)


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


@pytest.mark.parametrize("gpus", [17, 33])
def test_marginal_gain_stalls(gpus: int) -> None:
    """One job has c(1) = c(2) = 1 and c(m) = 2/m at m = C - 1, as at most linear speed allows; the other costs next to 0."""
    assert supremum("marginal", 2, gpus, "sublinear", "powers") == Fraction(gpus - 1, 2)
    assert supremum("marginal", 2, gpus, "monotone", "powers") is None


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
    for _ in range(60):
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
