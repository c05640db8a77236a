"""Categories: as many as are counted, in the order of their ranks, and drawn without bias."""

from itertools import product

import numpy as np
import pytest

from dlsched.algorithms.count_vectors import composition_at, draw_below
from dlsched.algorithms.time_costs import Costs
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays
from dlsched.matching_placement.markets import (
    categories,
    category_table,
    count_categories,
    draw_category,
    draw_guided,
)


def build(stock, least, most, rates=None, work=None, traffic=None, bandwidth=None):
    """Arrays of some sizes; every type serves every job at rate 1 unless said."""
    jobs, kinds = len(least), len(stock)
    return Arrays(
        stock=np.array(stock),
        bandwidth=np.ones(kinds) if bandwidth is None else np.array(bandwidth),
        rates=np.ones((jobs, kinds)) if rates is None else np.array(rates),
        work=np.ones(jobs) if work is None else np.array(work),
        traffic=np.zeros(jobs) if traffic is None else np.array(traffic),
        least=np.array(least),
        most=np.array(most),
        costs=Costs(np.ones(jobs)),
    )


def drawn_cases(number):
    """Arrays of 1 to 4 jobs on up to 8 workers, some without any category."""
    generator = np.random.default_rng(0)
    for _ in range(number):
        jobs = int(generator.integers(1, 5))
        least = generator.integers(1, 3, jobs)
        yield build(generator.integers(1, 4, 2), least, least + generator.integers(-1, 5, jobs))


def by_hand(arrays):
    """Filter all size vectors, in lexicographic order."""
    ranges = [range(low, high + 1) for low, high in zip(arrays.least, arrays.most, strict=True)]
    return [sizes for sizes in product(*ranges) if sum(sizes) <= arrays.stock.sum()]


def test_categories_are_those_that_a_filter_keeps_and_as_many_as_counted():
    """The generator against a filter of the whole product."""
    for arrays in drawn_cases(300):
        expected = by_hand(arrays)
        assert list(categories(arrays)) == expected
        assert count_categories(arrays) == len(expected)


def test_ranks_are_places_in_the_order():
    """Ranks to categories is one to one, so a uniform rank is a uniform category."""
    for arrays in drawn_cases(100):
        least, table = arrays.least.tolist(), category_table(arrays)
        listed = list(categories(arrays))
        assert [composition_at(least, table, rank) for rank in range(len(listed))] == listed
        for rank in (-1, len(listed)):
            with pytest.raises(UsageError, match="allowed: an integer from 0"):
                composition_at(least, table, rank)


def test_counts_beyond_any_machine_integer():
    """100 jobs on 1000 workers: the sizes are 1000 choose 100, by stars and bars."""
    from math import comb

    arrays = build([400, 600], [1] * 100, [1000] * 100)
    assert count_categories(arrays) == comb(1000, 100)
    table = category_table(arrays)
    sizes = draw_category(arrays, np.random.default_rng(0), table)
    assert min(sizes) >= 1
    assert sum(sizes) <= 1000
    assert composition_at(arrays.least.tolist(), table, comb(1000, 100) - 1) == (901, *[1] * 99)
    assert next(categories(arrays)) == (1,) * 100


class Bytes:
    """Stands for a generator whose bytes are all the strings of one byte, in order."""

    def __init__(self):
        self.given = 0

    def bytes(self, width):
        assert width == 1
        self.given += 1
        return bytes([self.given - 1])


@pytest.mark.parametrize("count", [2, 3, 100, 128, 129, 255, 256])
def test_a_drawn_rank_has_no_bias(count):
    """Fed every byte once, a draw gives every rank equally often: what does not fit is drawn again, not wrapped."""
    generator = Bytes()
    seen = [0] * count
    while generator.given < 256:
        try:
            seen[draw_below(count, generator)] += 1
        except ValueError:  # the bytes ended in a draw that was to be repeated
            break
    assert min(seen) == max(seen) > 0


def test_a_single_category_and_none():
    """One category needs no bit; none cannot be drawn."""
    single, none = build([2], [1, 1], [1, 1]), build([2], [1, 2], [2, 2])
    assert draw_category(single, np.random.default_rng(0), category_table(single)) == (1, 1)
    with pytest.raises(UsageError, match="no category"):
        draw_category(none, np.random.default_rng(0), category_table(none))


def test_guided_draws_are_categories():
    """Every draw keeps the smallest and largest sizes and the number of workers, also where types cannot serve."""
    generator = np.random.default_rng(1)
    drawn = 0
    for plain in drawn_cases(300):
        rates = generator.random(plain.rates.shape) * (generator.random(plain.rates.shape) < 0.7)
        rates[:, 0] += 0.1
        traffic = generator.choice([0.0, 1.0, 100.0], plain.jobs)
        arrays = build(plain.stock, plain.least, plain.most, rates, traffic=traffic, bandwidth=[1.0, 0.1])
        allowed = set(by_hand(arrays))
        for _ in range(5 if allowed else 0):
            assert draw_guided(arrays, generator) in allowed
            drawn += 1
    assert drawn > 500


def test_guided_draws_follow_the_square_root_rule():
    """Work 1, 4 and 16 on 70 identical workers: 10, 20 and 40 on average; with heavy communication one each."""
    generator = np.random.default_rng(0)
    arrays = build([70], [1] * 3, [70] * 3, work=[1.0, 4.0, 16.0])
    draws = [draw_guided(arrays, generator) for _ in range(2000)]
    whole = np.array([sizes for sizes in draws if sum(sizes) == 70])
    assert len(whole) > 1400
    assert np.abs(whole.mean(axis=0) - [10, 20, 40]).max() < 0.5
    heavy = build([70], [1] * 3, [70] * 3, work=[1.0, 4.0, 16.0], traffic=[20.0] * 3)
    assert draw_guided(heavy, generator) == (1, 1, 1)
