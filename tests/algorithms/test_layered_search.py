"""Divisions of units by cost: against trying all, with and without a limit on their number, with jobs that are alike."""

from itertools import product

import numpy as np
import pytest

from dlsched.algorithms.layered_search import Choices, cheap_divisions


def drawn(seed: int, units: int) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Costs of three states so far, and counts and costs of four jobs in them, of which the last two are alike in state 1."""
    generator = np.random.default_rng(seed)
    counts = [np.array([0, *sorted({int(n) for n in generator.integers(1, units + 1, 4)})]) for _ in range(4)]
    counts[3] = counts[2]
    costs = [generator.integers(0, 50, (3, len(each))).astype(float) for each in counts]
    costs[3][1] = costs[2][1]
    return generator.integers(0, 20, 3).astype(float), counts, costs


def all_ways(
    base: np.ndarray, counts: list[np.ndarray], costs: list[np.ndarray], units: int
) -> dict[tuple[int, ...], float]:
    """Every division of every state, state and positions of the counts, with its cost."""
    return {
        (state, *chosen): base[state] + sum(costs[job][state, place] for job, place in enumerate(chosen))
        for state in range(len(base))
        for chosen in product(*(range(len(each)) for each in counts))
        if sum(int(counts[job][place]) for job, place in enumerate(chosen)) <= units
    }


@pytest.mark.parametrize("units", [1, 5, 64, 100, 1000, 2**53])
def test_all_divisions_below_the_cutoff(units: int) -> None:
    """Exactly these, each once; of two jobs alike in a state, those that give the first no less."""
    for seed in range(10):
        base, counts, costs = drawn(seed, units)
        every = all_ways(base, counts, costs, units)
        cutoff = float(np.quantile(list(every.values()), 0.3))
        choices = [Choices(*each) for each in zip(counts, costs, strict=True)]
        found = cheap_divisions(base, choices, units, cutoff, 10**6)
        keys = [(state, *chosen) for state, chosen in zip(found.state.tolist(), found.chosen.tolist(), strict=True)]
        assert found.missing == np.inf and len(set(keys)) == len(keys)
        assert dict(zip(keys, found.total.tolist(), strict=True)) == {
            key: cost for key, cost in every.items() if cost < cutoff
        }
        choices[3] = Choices(counts[3], costs[3], 2, np.array([False, True, False]))
        fewer = cheap_divisions(base, choices, units, cutoff, 10**6)
        wanted = [key for key in keys if key[0] != 1 or key[4] <= key[3]]
        assert sorted(wanted) == sorted(
            (state, *chosen) for state, chosen in zip(fewer.state.tolist(), fewer.chosen.tolist(), strict=True)
        )


def test_what_a_limit_leaves_out_is_bounded() -> None:
    """Of a few ways at a time: none that is missing costs less than is said."""
    for seed, most in product(range(10), (1, 3, 10, 40)):
        base, counts, costs = drawn(seed, 9)
        every = all_ways(base, counts, costs, 9)
        choices = [Choices(*each) for each in zip(counts, costs, strict=True)]
        found = cheap_divisions(base, choices, 9, np.inf, most)
        made = {(state, *chosen) for state, chosen in zip(found.state.tolist(), found.chosen.tolist(), strict=True)}
        assert 1 <= len(made) <= most
        assert found.missing <= min(cost for key, cost in every.items() if key not in made)
