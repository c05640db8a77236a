"""``priced``: every placement up to the cutoff is in the model, whatever the prices are, and little else."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shipped import ROOT

import dlsched
from dlsched.core.errors import UsageError
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement.arrays import arrays, counts_of, placement
from dlsched.matching_placement.checker import objective
from dlsched.matching_placement.configurations.pricing import Pricing
from dlsched.matching_placement.exact import NONE, PRICED, default_parameters
from dlsched.matching_placement.formulations.milp import build_milp, configurations
from dlsched.matching_placement.formulations.priced import build_priced, columns_within, listed
from dlsched.matching_placement.objectives import objective_of
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.testing import brute_force_placement, matching_placement_instances

from .draw import draw
from .test_configurations import everything, prices_for

LARGE = {
    "communication-heavy-30x160-seed975": 1161,
    "compute-only-20x60-seed2": 25,
    "compute-only-60x200-seed11": 64,
    "few-types-60x200-seed2": 75,
    "many-types-15x45-seed3": 1258,
    "many-types-60x160-seed11": 721,
    "published-rates-20x60-seed1": 85,
    "published-rates-30x160-seed2": 145,
    "published-rates-60x200-seed3": 142,
}
"""Instances too large for ``milp``, and the configurations that are left."""
EXAMPLE = dlsched.matching_placement.example()
SOME = [pytest.param(name, marks=[pytest.mark.long] * (at % 4 > 0)) for at, name in enumerate(LARGE)]
"""Every fourth is always tried, the others in the campaigns."""


def read(name):
    """A shipped instance."""
    return dlsched.read(ROOT / "matching_placement" / f"{name}.json")


def some(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize("seed", range(60))
def test_all_and_only_what_is_cheap_is_listed(seed):
    """Against all vectors and the formula written out, at limits from the least value to the largest."""
    rng = np.random.default_rng(seed)
    most = None if seed % 3 else int(rng.integers(1, 6))
    shape = {"types": int(rng.integers(1, 5)), "each": int(rng.integers(1, 5))}
    instance = draw(seed, **shape, jobs=2, exchange=seed % 4 > 0, most=most)
    data = arrays(instance)
    prices = prices_for(data, rng)
    law, _ = objective_of(instance).law(data, 1.0)
    for job in range(data.jobs):
        rows, times = everything(data, job)
        values = times + rows @ prices
        for part in (0.0, 0.1, 0.5, 1.0):
            allowed = float(np.quantile(values, part))
            counts, _ = listed(data, job, law, prices, allowed)
            names = set(map(tuple, counts.tolist()))
            assert len(names) == len(counts)
            assert names >= set(map(tuple, rows[values < allowed * (1 - 1e-9)].tolist()))
            assert names <= set(map(tuple, rows[values < allowed * (1 + 1e-9)].tolist()))


def placements(instance, data):
    """The counts of every placement that keeps the stock, by trying all."""
    every = [configurations(data, job) for job in range(data.jobs)]
    for chosen in itertools.product(*every):
        counts = np.array(chosen)
        if (counts.sum(axis=0) <= data.stock).all():
            yield counts


@some(150)
@given(matching_placement_instances(), st.integers(0, 2**32 - 1))
def test_every_placement_up_to_the_cutoff_is_in_the_model(instance, seed):
    """At prices and cutoffs at random, of all objectives, among them the objectives of placements themselves."""
    rng, data = np.random.default_rng(seed), arrays(instance)
    all_counts = list(itertools.islice(placements(instance, data), 3000))
    values = [objective(instance, placement(instance, counts)) for counts in all_counts]
    scale = (abs(min(values, default=1.0)) + 1) * rng.choice([0.0, 1e-3, 1.0, 1e3])
    prices = (rng.random(data.types) * scale).tolist()
    better = objective_of(instance).sense.better
    for cutoff in [*rng.choice(values, min(2, len(values))).tolist(), float(rng.normal()), 1e-9, -1e9, 1e9]:
        columns = columns_within(data, instance, prices, cutoff)
        kept = [set(map(tuple, each.tolist())) for each in columns]
        for counts, value in zip(all_counts, values, strict=True):
            if value == cutoff or better(value, cutoff):
                assert all(tuple(row) in names for row, names in zip(counts.tolist(), kept, strict=True)), cutoff


@some(60)
@given(matching_placement_instances())
def test_the_optimum_is_that_of_all_placements(instance):
    """At the prices and the cutoff that are found."""
    built, best = PRICED(instance), brute_force_placement(instance)
    outcome = solve_milp(from_pulp(built.model))
    if best is None:
        assert (built.limit, built.parameters["cutoff"], outcome.status) == (None, NONE, TerminationStatus.INFEASIBLE)
        return
    assert outcome.status is TerminationStatus.OPTIMAL
    optimum, _ = best
    assert objective(instance, built.decode(outcome.values)) == pytest.approx(optimum, rel=1e-6)
    again = PRICED(instance, **built.parameters)
    assert [variable.name for variable in again.model.variables()] == [each.name for each in built.model.variables()]
    assert again.parameters == built.parameters


@pytest.mark.parametrize("name", SOME)
def test_columns_of_the_large_ones(name):
    """As many as stand in the table, and the same that column generation lists by another algorithm."""
    instance = read(name)
    data = arrays(instance)
    prices, cutoff = default_parameters(instance)
    columns = columns_within(data, instance, prices, float(cutoff))
    assert sum(map(len, columns)) == LARGE[name]
    paid = np.array(prices)
    values = [data.times(job, counts) + counts @ paid for job, counts in enumerate(columns)]
    least = np.array([each.min() for each in values])
    slack = float(cutoff) * data.jobs + float(paid @ data.stock) - float(least.sum())
    others = Pricing(data).cheap(paid, least + slack)
    for mine, theirs in zip(columns, others, strict=True):
        assert set(map(tuple, mine.tolist())) == set(map(tuple, theirs.counts.tolist()))


@pytest.mark.parametrize("name", SOME)
def test_the_known_placement_is_in_the_model(name):
    """That of the exact method, whatever found it."""
    instance = read(name)
    held = dlsched.solve(instance).solution
    columns = columns_within(arrays(instance), instance, default_parameters(instance)[0], objective(instance, held))
    for row, counts in zip(counts_of(instance, held).tolist(), columns, strict=True):
        assert row in counts.tolist()


BAD = [
    ([1.0], 364.0, "prices"),
    ([1.0, -1.0], 364.0, "prices"),
    ([1.0, math.nan], 364.0, "prices"),
    ([1.0, math.inf], 364.0, "prices"),
    ([1.0, 1e200], 364.0, "prices"),
    ([1.0, 1.0], math.nan, "cutoff"),
    ([1.0, 1.0], -math.inf, "cutoff"),
]


@pytest.mark.parametrize(("prices", "cutoff", "where"), BAD)
def test_what_is_no_price_or_cutoff_is_refused(prices, cutoff, where):
    """In words."""
    with pytest.raises(UsageError, match=where):
        build_priced(EXAMPLE, prices, cutoff)


@pytest.mark.parametrize("words", [{"prices": "1 x"}, {"cutoff": "soon"}, {"cutoff": "1e400"}])
def test_words_that_are_no_numbers_are_refused(words):
    """As they come from files."""
    with pytest.raises(UsageError):
        PRICED(EXAMPLE, **words)


@pytest.mark.parametrize("cutoff", [1e9, 1e300])
@pytest.mark.parametrize("name", SOME)
def test_a_cutoff_beyond_all_is_refused(name, cutoff):
    """Without listing what would be billions of columns."""
    instance = read(name)
    with pytest.raises(UsageError, match="too many configurations"):
        build_priced(instance, [0.0] * len(instance.types), cutoff)


def test_no_cutoff_is_the_whole_model():
    """Every column."""
    names = [
        list(map(str, build.model.variables())) for build in (build_priced(EXAMPLE, [], None), build_milp(EXAMPLE))
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("cutoff", [-1.0, 1.0, 363.0])
def test_below_the_optimum_no_solution_keeps_the_cutoff(cutoff):
    """The model has none, or worse ones: all that this says is that none is as good as the cutoff."""
    built = build_priced(EXAMPLE, [50.0, 50.0], cutoff)
    outcome = solve_milp(from_pulp(built.model))
    assert outcome.status is TerminationStatus.INFEASIBLE or outcome.objective >= 364
    assert (outcome.status is TerminationStatus.INFEASIBLE) == (cutoff < 100)
    assert built.limit == cutoff


def test_by_hand():
    """Prices 0, cutoff 364 of the mean: a job may cost 728 less the other's least, 192 (``b``) and 328 (``a``)."""
    columns = columns_within(arrays(EXAMPLE), EXAMPLE, [0.0, 0.0], 364.0)
    data, a, b = arrays(EXAMPLE), *columns
    assert (data.times(0, a) <= 728 - 192 + 1e-6).all() and (data.times(1, b) <= 728 - 328 + 1e-6).all()
    assert [len(a), len(b)] == [4, 3]
    assert objective_of(EXAMPLE).sense is Sense.MINIMIZE
