"""Rounds of quotas: the best least utility, then the next one, by brute force; what limits leave open; equal answers."""

import functools
import math

import pytest
from documented import assert_named, documented
from hypothesis import given

from dlsched.core.limits import Limits, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import check, utilities
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.formulations.span import build_span
from dlsched.ring_embedding.formulations.workers import Stairs
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min import methods
from dlsched.ring_embedding.max_min.methods import run_rounds
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_max_min, ring_embedding_instances

from .test_brute_force import job, made, profile
from .test_formulations import SOLVED, rows_of, search_of

ALL = "the least utility is as large as possible, and so is each next one"


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    """No child processes: they cost a second each."""
    monkeypatch.setattr(methods, "solve_milp", functools.partial(solve_milp, isolated=False))


def fair(instance):
    """The same instance with the objective max_min."""
    return Instance(**(instance.model_dump(exclude={"known"}) | {"objective": "max_min", "energy_price_per_kwh": 0.0}))


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
        instance = fair(instance)
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
        built = build(fair(instance))
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
    instance = fair(
        made([1], [], *(capped(name, slope) for name, slope in zip("abcd", (1.0, 2.0, 3.0, 5.0), strict=True)), slots=3)
    )
    search = search_of(instance)
    assert run_rounds(instance, search, program=program) is TerminationStatus.OPTIMAL
    assert earned(instance, search) == [0.0, 2.0, 3.0, 5.0]
    assert search.objective == search.bound == 0.0


def test_a_start_that_has_the_best_least_is_replaced():
    """One slot for each of two jobs is best for both; a start with the least utility 0 for a third is as good, and worse next."""
    never = capped("c", 1.0, demand={"gpu": 2.0})
    instance = fair(made([1], [], capped("a", 1.0), capped("b", 1.0), never, slots=2))
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
    instance = fair(made([1], [], *jobs, slots=64))
    for upper, most in ((None, 8), (32.0, 2)):
        asked.clear()
        search = search_of(instance)
        assert run_rounds(instance, search, program="milp", upper=upper) is TerminationStatus.OPTIMAL
        assert (search.objective, search.bound) == (32.0, 32.0)
        assert len(asked) <= most


def test_rows_of_stairs_by_hand():
    """All jobs two worker-slots, one of them four; the second can have no more than two."""
    instance = fair(made([2], [], job("a", workers=2), job("b", workers=2, budget={"gpu": 2.0}), slots=4))
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
    instance = fair(made([1], [], capped("a", 1.0), capped("b", 3.0), slots=4))
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
    instance = fair(made([1], [], capped("a", 1.0), capped("b", 3.0), capped("c", 5.0, budget={"gpu": 0.0}), slots=5))
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
    instance = fair(made([3], [], *jobs, slots=2))
    search = search_of(instance)
    assert run_rounds(instance, search, program="circuit") is TerminationStatus.OPTIMAL
    assert earned(instance, search) == brute_force_max_min(instance)[0]
