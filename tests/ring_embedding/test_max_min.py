"""max_min: certificates by hand, bounds above brute force above heuristics, plans and their repair, and what methods say."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import dlsched
from dlsched import ring_embedding
from dlsched.certificates import DualsCertificate
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import Instance, aggregated, check, generate, horizon, plan, solve
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.horizon.relaxation import relax
from dlsched.ring_embedding.max_min.methods import levelled
from dlsched.ring_embedding.max_min.plan import Filling, Water, ascending, raise_levels
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.rows import rows
from dlsched.testing.ring_embedding import brute_force_max_min

from .test_brute_force import job, made
from .test_campaign import draw

CLOSE = 1e-9  # relative, of what tables are rounded up and of capacities with the checker's tolerance
UTILITIES = (
    {"kind": "alpha_fair", "alpha": 1.0, "scale": 2.0, "shift": 1.0},
    {"kind": "alpha_fair", "alpha": 0.5, "scale": 1.0},
    {"kind": "table", "progress": [0, 1, 2, 4], "worth": [0, 0, 3, 5]},
)
BOUNDS, HEURISTICS = ("bound", "horizon", "aggregated"), ("plan", "drf", "las", "fifo")
EXACT = ("exact", "milp", "circuit")


def least(instance, **more):
    """The same instance with the objective max_min, and fields in place of others."""
    return Instance(**{**instance.model_dump(exclude={"known"}), "objective": "max_min", **more})


def fair(seed):
    """A small instance of any kind, of which some jobs have a utility that is alpha-fair or a table."""
    instance = draw(seed)
    jobs = [record.model_dump() for record in instance.jobs]
    for index, record in enumerate(jobs):
        kind = (seed + index) % 5
        record |= {"utility": UTILITIES[kind]} if kind < len(UTILITIES) else {}
    return least(instance, jobs=jobs)


def sloping(slope):
    """A utility of that much a worker-slot."""
    return {"kind": "capped", "slope": slope, "cap": 100.0}


TWO = least(made([4], [], job("a", workers=4), job("b", workers=4, utility=sloping(3.0))))
"""Four GPUs in one slot; a worker of a is worth 1, one of b 3. Three and one make the least utility 3; with the sum b has all."""
POOL = f"pool_{rows(TWO)[0].name}"
AT_ONE = f"pool_1_{rows(TWO)[0].name}_c0"


def proven(instance, formulation, prices):
    """What prices prove; the value that a certificate claims does not matter."""
    return float(verify(instance, DualsCertificate(formulation, prices, 0.0)))


@pytest.mark.parametrize(
    ("formulation", "prices", "expected"),
    [
        ("aggregated", {}, 4),  # a can have no more
        ("aggregated", {POOL: 1.0}, 3),  # 4 + 2 workers for 4
        ("aggregated", {POOL: 0.001}, 3),
        ("horizon", {"total_a": 1.0}, 4),
        ("horizon", {"total_a": 1.0, "total_b": 1.0}, 4),  # four of each
        ("horizon", {"total_a": 1.0, "total_b": 1.0, AT_ONE: 1.0}, 3),
        ("horizon", {"total_a": 1.0, "total_b": 1.0, AT_ONE: 0.5}, 4),  # 2 for what there is, 2 for either ring: 4 + 2
        ("horizon", {"total_a": 1.0, "total_b": 1.0, AT_ONE: 0.9}, 3),  # 3.6 + 0.4 + 0.4 < 6
        ("columns", {"total_a": 3.0, "total_b": 1.0, AT_ONE: 1.0}, 3),  # 3 * 4 + 2 > 4 + 4 * 2
        ("columns", {"total_a": 1.0, "total_b": 3.0, AT_ONE: 3.0}, 4),  # 4 + 3 * 2 < 3 * 4
        ("columns", {"total_a": 1.0, "total_b": 1.0, "capacity_1_gpu_s0": 1.0}, 3),
    ],
)
def test_certificates_by_hand(formulation, prices, expected):
    """Quotas at prices of worker-slots against what all GPUs and the best rings are paid."""
    assert proven(TWO, formulation, prices) == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ({"total_a": -1.0}, "negative"),
        ({"total_a": float("nan")}, "not finite"),
        ({"total_a": float("inf")}, "not finite"),
        ({"total_z": 1.0}, "no row 'total_z'"),
        ({"pool_2_gpu_c0": 1.0}, "no row"),
    ],
)
def test_forged_certificates_are_refused(rows, what):
    """Prices that are none, and rows that are none."""
    with pytest.raises(ValueError, match=what):
        verify(TWO, DualsCertificate("horizon", rows, 3.0))


def test_duals_of_a_slot_are_refused():
    """They have no prices of worker-slots."""
    with pytest.raises(ValueError, match="objective sum"):
        verify(TWO, DualsCertificate("slot", {}, 3.0))


def test_a_claim_below_what_is_proven_is_refused():
    """A result whose certificate claims a least utility that its quotas do not exclude."""
    result = solve(TWO, method="horizon")
    assert not dlsched.verify(TWO, result).failures
    assert result.certificate is not None
    for value in (2.0, 2.999):
        forged = replace(result, certificate=replace(result.certificate, value=value), bound=value)
        assert dlsched.verify(TWO, forged).failures


@pytest.mark.parametrize("seed", range(40))
def test_prices_of_any_kind_are_above_brute_force(seed):
    """Prices of the relaxation for sums, each times a random factor."""
    instance, rng = fair(seed), random.Random(seed)
    best = brute_force_max_min(instance)[0][0]
    prices = relax(instance).certificate.rows
    for _ in range(4):
        drawn = {
            name: price * rng.choice([0, 0.5, 1, 1, 3]) + rng.choice([0, 0, 0.1]) for name, price in prices.items()
        }
        assert proven(instance, "horizon", drawn) >= best * (1 - 1e-12)


def test_bounds_and_levels_by_hand():
    """3 for both; a has what it needs for 3 and b is held down by the GPU that is left."""
    assert aggregated(TWO).value == pytest.approx(3, rel=CLOSE)
    assert horizon(TWO).value == pytest.approx(3, rel=CLOSE)
    water = Water(TWO)
    assert raise_levels(water) == pytest.approx(3, rel=CLOSE)
    assert water.wanted() == [3, 1]


def test_jobs_that_can_have_no_more_do_not_hold_others_down():
    """A may have one worker-slot, worth 1; b and c share the seven others: 3 each, and one is over."""
    held = job("a", workers=4, budget={"gpu": 1.0})
    instance = least(made([8], [], held, job("b", workers=8), job("c", workers=8)))
    water = Water(instance)
    assert raise_levels(water) == pytest.approx(1, rel=CLOSE)
    assert water.wanted()[0] == 1
    assert water.certificate().value == pytest.approx(1, rel=CLOSE)
    assert ascending(instance, plan(instance)) == pytest.approx([1, 3, 4], rel=CLOSE)


def test_repair_takes_from_the_rich():
    """B has all four GPUs, and nothing is free: a takes one after the other, as long as b keeps more than a had."""
    made_plan = Plan(Network(TWO))
    assert made_plan.resize(1, 1, 4)
    filling = Filling(made_plan)
    filling.fill()
    assert made_plan.spent == [0, 4]
    filling.repair()
    assert made_plan.spent == [3, 1]


def test_filling_gives_all_worker_slots_of_a_step_or_none():
    """Two worker-slots are worth 3 to a, one nothing; the last GPU would be wasted on it, and goes to nobody."""
    step = {"kind": "table", "progress": [0, 1, 2], "worth": [0, 0, 3]}
    one = job("a", workers=1, utility=step)
    instance = least(made([1], [], one, job("b", workers=1), slots=2))
    assert ascending(instance, plan(instance)) == pytest.approx([0, 3], rel=CLOSE)  # 0 and 3 are more than 0 and 2
    instance = least(made([1], [], one, job("b", workers=1), slots=3))
    assert ascending(instance, plan(instance)) == pytest.approx([1, 3], rel=CLOSE)


def campaign(seed, exact):
    """Bounds are above brute force, which is above heuristics; plans come with a bound; exact methods meet it, job by job."""
    instance = fair(seed)
    best, _ = brute_force_max_min(instance)
    for name in BOUNDS:
        result = solve(instance, method=name)
        assert result.bound >= best[0] * (1 - 1e-12)
        assert float(verify(instance, result.certificate)) <= result.certificate.value
    for name in HEURISTICS:
        result = solve(instance, method=name)
        assert check(instance, result.solution) == []
        found = ascending(instance, result.solution)
        assert result.objective == found[0]
        assert found == pytest.approx(best, rel=CLOSE) or found < best
    for name in EXACT if exact else ():
        result = solve(instance, method=name)
        assert result.status is TerminationStatus.OPTIMAL
        assert ascending(instance, result.solution) == pytest.approx(best, rel=CLOSE, abs=1e-12)
        assert "and so is each next one" in result.message


@pytest.mark.parametrize("seed", range(30))
def test_bounds_brute_force_heuristics(seed):
    """A sample of the campaign, every third with the exact methods."""
    campaign(seed, exact=seed % 3 == 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30, 230))
def test_campaign(seed):
    """The campaign, with the exact methods."""
    campaign(seed, exact=True)


@pytest.mark.parametrize("seed", range(5))
def test_plans_are_the_same_again_and_close_to_their_bound(seed):
    """Of middle size, thin links: the least utility is within a tenth of the bound."""
    instance = least(generate(preset="small", jobs=10, servers=6, slots=12, seed=seed))
    first, second = (solve(instance, method="plan") for _ in range(2))
    assert first.solution == second.solution
    assert check(instance, first.solution) == []
    assert first.objective >= 0.9 * first.bound
    assert first.objective >= max(solve(instance, method=name).objective for name in ("drf", "las", "fifo"))


def test_values_that_differ_by_rounding_are_one():
    """1 / 3 as a float, the one above it and the one below; a millionth more is another value."""
    third = 1 / 3
    above, below = math.nextafter(third, 1), math.nextafter(third, 0)
    found = levelled([np.array([0.0, third, 1.0]), np.array([below, above]), np.array([third * (1 + 1e-6)])])
    assert [each.tolist() for each in found] == [[0.0, above, 1.0], [above, above], [third * (1 + 1e-6)]]


def test_exact_says_what_is_not_proven():
    """Too large for the rounds: what the certificate proves, and no more."""
    result = solve(least(generate(preset="small", jobs=6, servers=5, slots=21)))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.message == "the least utility is as large as possible; of the next ones there is no proof"


@pytest.mark.parametrize("method", ["columns", "density", "gadget", "slot-greedy"])
def test_methods_for_sums_refuse(method):
    """They say which methods serve."""
    with pytest.raises(UsageError, match=f"{method}.*max_min.*plan"):
        solve(TWO, method=method)


@pytest.mark.parametrize("function", [ring_embedding.columns, ring_embedding.density])
def test_functions_for_sums_refuse(function):
    """As their methods do."""
    with pytest.raises(UsageError, match=r"max_min.*plan"):
        function(TWO)


@pytest.mark.parametrize("limits", [Limits(time_s=0), Limits(nodes=0)])
@pytest.mark.parametrize("method", ["exact", "milp", "arc", "circuit", "plan", "drf", "las", "fifo"])
def test_no_time_and_no_nodes_still_hold_an_answer(method, limits):
    """The answer of a rule that needs no time."""
    result = solve(TWO, method=method, limits=limits)
    assert result.solution is not None
    assert check(TWO, result.solution) == []
