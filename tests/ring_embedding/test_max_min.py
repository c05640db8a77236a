"""max_min: certificates by hand, bounds, plans and their repair; rounds of quotas against brute force."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import profile
from documented import assert_named, documented
from hypothesis import given

import dlsched
from dlsched import ring_embedding
from dlsched.certificates import DualsCertificate
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import aggregated, generate, horizon, plan, solve
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.checker import check, utilities
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.ring_embedding.formulations.workers import Stairs
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min import methods
from dlsched.ring_embedding.max_min.methods import levelled, run_rounds
from dlsched.ring_embedding.max_min.plan import Filling, Water, ascending, raise_levels
from dlsched.ring_embedding.relaxation import relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.rows import rows
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_max_min, ring_embedding_instances

from .small_networks import draw
from .test_brute_force import job, made
from .test_certificate import proven
from .test_formulations import SOLVED, rows_of, search_of

pytestmark = pytest.mark.usefixtures("in_process")

CLOSE = 1e-9  # relative, of what tables are rounded up and of capacities with the checker's tolerance
UTILITIES = (
    {"kind": "alpha_fair", "alpha": 1.0, "scale": 2.0, "shift": 1.0},
    {"kind": "alpha_fair", "alpha": 0.5, "scale": 1.0},
    {"kind": "table", "progress": [0, 1, 2, 4], "worth": [0, 0, 3, 5]},
)
BOUNDS, HEURISTICS = ("bound", "horizon", "aggregated"), ("plan", "drf", "las", "fifo")
EXACT = ("exact", "milp", "circuit")


def least(instance, **more):
    """The same instance with the objective max_min, without a price of energy, and fields in place of others."""
    plain = {"objective": "max_min", "energy_price_per_kwh": 0.0}
    return Instance(**instance.model_dump(exclude={"known"}) | plain | more)


def drawn_least(seed):
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
    instance, rng = drawn_least(seed), random.Random(seed)
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
    instance = drawn_least(seed)
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


@pytest.mark.parametrize("function", [ring_embedding.columns, ring_embedding.density])
def test_functions_for_sums_refuse(function):
    """As their methods do."""
    with pytest.raises(UsageError, match=r"max_min.*plan"):
        function(TWO)


ALL = "the least utility is as large as possible, and so is each next one"


def earned(instance, search):
    """Utilities of the embedding held, the least first."""
    assert check(instance, search.solution) == []
    return sorted(utilities(instance, search.solution).values())


@pytest.mark.parametrize(
    ("program", "solver", "examples"),
    [
        ("milp", "highs", 15),
        ("milp", "scip", 8),
        ("milp", "cbc", 12),
        ("arc", "highs", 12),
        ("arc", "scip", 8),
        ("arc", "cbc", 8),
        ("circuit", None, 12),
    ],
)
def test_utilities_are_brute_forces(program, solver, examples):
    """All of them, in order, by every program and solver."""

    @profile(examples)
    @given(ring_embedding_instances(forest=True if program == "milp" else None, objectives="any"))
    def agrees(instance):
        instance = least(instance)
        search = search_of(instance, solver=solver)
        assert run_rounds(instance, search, program=program) is TerminationStatus.OPTIMAL
        expected, _ = brute_force_max_min(instance)
        assert earned(instance, search) == pytest.approx(expected, rel=1e-12, abs=1e-300)
        assert search.bound == pytest.approx(expected[0], rel=1e-12, abs=1e-300)
        assert search.message == ALL

    agrees()


@pytest.mark.parametrize("build", [build_span, build_arc])
def test_the_least_utility_as_one_program(build):
    """The model that is exported has the best least utility as its optimum; here by tolerances."""

    @profile(20)
    @given(ring_embedding_instances(forest=True, objectives="any"))
    def agrees(instance):
        built = build(least(instance))
        outcome = solve_milp(built.model, isolated=False)
        expected = brute_force_max_min(instance)[0][0]
        assert outcome.objective * built.unit == pytest.approx(expected, rel=SOLVED, abs=SOLVED)

    agrees()


def capped(name, slope, **more):
    """A job of one GPU whose worker-slots are worth ``slope`` each."""
    return job(name, workers=1, utility={"kind": "capped", "slope": slope, "cap": 100.0}, **more)


@pytest.mark.parametrize("program", ["milp", "arc", "circuit"])
def test_who_has_least_is_chosen_for_what_comes_next(program):
    """Three slots of one GPU: one of four jobs has nothing, whichever; then 2, 3 and 5 beat what else there is."""
    instance = least(
        made([1], [], *(capped(name, slope) for name, slope in zip("abcd", (1.0, 2.0, 3.0, 5.0), strict=True)), slots=3)
    )
    search = search_of(instance)
    assert run_rounds(instance, search, program=program) is TerminationStatus.OPTIMAL
    assert earned(instance, search) == [0.0, 2.0, 3.0, 5.0]
    assert search.objective == search.bound == 0.0


def test_a_start_that_has_the_best_least_is_replaced():
    """One slot for each of two jobs is best for both; a start with the least utility 0 for a third is as good, and worse next."""
    never = capped("c", 1.0, demand={"gpu": 2.0})
    instance = least(made([1], [], capped("a", 1.0), capped("b", 1.0), never, slots=2))
    search = search_of(instance)
    search.offer(Embedding({1: {"a": ({"s0": 1}, ["s0"])}, 2: {"a": ({"s0": 1}, ["s0"])}}), source="start")
    assert run_rounds(instance, search, program="milp", upper=0.0) is TerminationStatus.OPTIMAL
    assert earned(instance, search) == [0.0, 1.0, 1.0]


def test_an_upper_bound_saves_questions(monkeypatch):
    """Two jobs, 64 slots, 65 values: up to seven halves and a count; one question and a count where the bound is reached."""
    asked = []
    ask = methods._Rounds._ask
    monkeypatch.setattr(
        methods._Rounds, "_ask", lambda self, *last, **more: asked.append(last) or ask(self, *last, **more)
    )
    jobs = [capped("a", 1.0), capped("b", 1.0)]
    instance = least(made([1], [], *jobs, slots=64))
    for upper, most in ((None, 8), (32.0, 2)):
        asked.clear()
        search = search_of(instance)
        assert run_rounds(instance, search, program="milp", upper=upper) is TerminationStatus.OPTIMAL
        assert (search.objective, search.bound) == (32.0, 32.0)
        assert len(asked) <= most


def test_rows_of_stairs_by_hand():
    """All jobs two worker-slots, one of them four; the second can have no more than two."""
    instance = least(made([2], [], job("a", workers=2), job("b", workers=2, budget={"gpu": 2.0}), slots=4))
    built = build_span(instance, goal=Stairs(((2, 2), (4, None)), (2, 1), maximise=True))
    rows = rows_of(built.model)
    assert rows["quota_a"] == "2*meets_a_1 - y_a_s0_1 - y_a_s0_2 - y_a_s0_3 - y_a_s0_4 <= -2.0"
    assert rows["quota_b"] == "-y_b_s0_1 - y_b_s0_2 - y_b_s0_3 - y_b_s0_4 <= -2.0"
    assert rows["count_1"] == "meets_a_1 >= 1.0"
    assert str(built.model.objective) == "meets_a_1"
    three = build_span(instance, goal=Stairs(((0, 0), (2, 1), (4, 2)), (2, 2, 1)))
    assert rows_of(three.model)["stair_a_2"] == "-meets_a_1 + meets_a_2 <= -0.0"
    assert rows_of(three.model)["quota_a"].startswith("2*meets_a_1 + 2*meets_a_2 - y")
    assert not three.model.objective
    names = [*three.model.variablesDict(), *three.model.constraints]
    documents = [
        name
        for kind in ("variables", "rows")
        for name in documented("ring_embedding", "max_min", f"Further {kind}, of quotas")
    ]
    assert_named([name for name in names if name.startswith(("meets", "quota", "stair", "count"))], documents)


@pytest.mark.parametrize("program", ["milp", "circuit"])
def test_limits_leave_the_next_ones_open(program):
    """No time, no question; the message says that the least is open, and the bound is the least of what each has alone."""
    instance = least(made([1], [], capped("a", 1.0), capped("b", 3.0), slots=4))
    search = search_of(instance, limits=Limits(time_s=0))
    with pytest.raises(Stopped):
        run_rounds(instance, search, program=program)
    assert (search.objective, search.bound) == (0.0, 4.0)
    assert search.message == "whether the least utility can be larger is open"


def test_what_is_proven_stands_where_a_later_question_is_open(monkeypatch):
    """The solver gives up after the first place, which a job without a budget has: its utility is 0."""
    ask = methods._Rounds._ask

    def give_up(self, *last, **more):
        return ask(self, *last, **more) if self.proven == 0 else (TerminationStatus.NODE_LIMIT, 2)

    monkeypatch.setattr(methods._Rounds, "_ask", give_up)
    instance = least(made([1], [], capped("a", 1.0), capped("b", 3.0), capped("c", 5.0, budget={"gpu": 0.0}), slots=5))
    search = search_of(instance)
    assert run_rounds(instance, search, program="milp") is TerminationStatus.NODE_LIMIT
    assert "the 1 least utilities are as large as possible" in search.message
    assert (search.objective, search.bound) == (0.0, 0.0)


def test_values_that_only_tables_know():
    """Sigmoids of a job of its own steepness each: all values differ in the last digits, and quotas are exact all the same."""
    jobs = [
        job(name, workers=2, utility={"kind": "sigmoid", "height": 1.0, "steepness": steep, "midpoint": 2.0})
        for name, steep in (("a", 1.0), ("b", math.nextafter(1.0, 2.0)))
    ]
    instance = least(made([3], [], *jobs, slots=2))
    search = search_of(instance)
    assert run_rounds(instance, search, program="circuit") is TerminationStatus.OPTIMAL
    assert earned(instance, search) == brute_force_max_min(instance)[0]
