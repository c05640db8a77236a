"""``Formulation.solve`` beyond rows of a user's own: free variables, starts, other objectives, every solver, edited rows."""

from itertools import product
from math import fsum, sqrt

import pulp
import pytest

import dlsched
from dlsched import FAMILIES, Limits, modelling, ring_allocation, ring_embedding
from dlsched.core.status import Sense, TerminationStatus

EQUAL = {"ring_allocation": "equal", "elastic_stream": "fixed", "srpt_mapping": "fifo", "async_sgd": "equal"}
EQUAL |= {"matching_placement": "equal", "ring_embedding": "fifo"}
"""A heuristic of every family that misses the optimum of its example."""
SOLVERS = ("highs", "cbc", "scip")


@pytest.fixture
def complete():
    """Two jobs on six GPUs; the optimum is 9846.03 with 4 and 2."""
    return dlsched.formulate(ring_allocation.example(), complete=True)


def values(gpus):
    """Objectives of all allocations of the example on some GPUs: epochs times seconds an epoch, and the restart of a's."""
    jobs = ring_allocation.example().jobs
    times = [
        {
            n: job.weight
            * (job.epochs * job.speed.epoch_time_s(n) + (job.restart_s if job.current_gpus not in (None, n) else 0.0))
            for n in ring_allocation.example().counts(index)
        }
        for index, job in enumerate(jobs)
    ]
    return [
        fsum(row[n] for row, n in zip(times, chosen, strict=True)) for chosen in product(*times) if sum(chosen) <= gpus
    ]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("least", [None, -1e9, 0, 5])
def test_a_variable_without_ends_changes_nothing(complete, solver, least):
    """It has no cost, and one row of its own at most."""
    free = pulp.LpVariable("free")
    if least is not None:
        complete.model += free >= least
    result = complete.solve(solver=solver)
    assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(min(values(6))))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_largest_of_all_counts_is_a_free_variable(complete, solver):
    """No job may have more than 2 GPUs."""
    largest = pulp.LpVariable("largest")
    for (_, n), choice in complete.variables.gpus.items():
        complete.model += largest >= n * choice
    complete.model += largest <= 2
    result = complete.solve(solver=solver)
    assert result.status is TerminationStatus.OPTIMAL and max(result.solution.gpus.values()) == 2


def small_embedding(scale):
    """Two jobs of the utilities scale and 3 scale times the root of their workers, on a server of two GPUs."""
    jobs = [
        {
            "id": name,
            "arrival_slot": 1,
            "max_workers": 2,
            "demand": {"gpu": 1.0},
            "bandwidth_bytes_per_s": 0.0,
            "rate": 1.0,
            "utility": {"kind": "sqrt", "scale": times * scale},
        }
        for name, times in (("a", 1.0), ("b", 3.0))
    ]
    return ring_embedding.Instance(
        name="small", slots=1, nodes=[{"id": "s0", "capacity": {"gpu": 2.0}}], links=[], jobs=jobs
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_optimum_of_nothing_is_proven(solver):
    """No worker at all: 0 is the optimum, and the bound is no hair above it."""
    formulation = dlsched.formulate(small_embedding(1.0), complete=True)
    formulation.model += pulp.lpSum(formulation.variables.workers.values()) == 0
    result = formulation.solve(solver=solver)
    assert (result.status, result.objective, result.bound) == (TerminationStatus.OPTIMAL, 0.0, 0.0)
    assert (result.bound_source, result.message) == ("exact arithmetic, of the model", "")


@pytest.mark.parametrize(("cases", "best"), [(0, 0.0), (1000, 3 * sqrt(2))])
def test_what_is_not_optimal_is_not_proven(cases, best, monkeypatch):
    """A solver that calls no worker at all the best is believed no more than the cases that were tried prove."""

    def lies(search, formulation):
        search.offer(ring_embedding.Embedding({}), source="a liar")
        return TerminationStatus.FEASIBLE

    monkeypatch.setattr(modelling, "solve_and_conclude", lies)
    monkeypatch.setattr(modelling, "_CASES", cases)
    result = dlsched.formulate(small_embedding(1.0), complete=True).solve()
    assert result.objective == pytest.approx(best)
    assert (result.status is TerminationStatus.OPTIMAL) == (cases > 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_start_reaches_solver_and_answer(family, monkeypatch):
    """The values handed over decode to it; and where the solver finds nothing it is the answer."""
    record = FAMILIES[family]
    instance = record.example()
    start = dlsched.solve(instance, method=EQUAL[family])
    handed = []

    def finds_nothing(search, formulation):
        handed.append(formulation.decode(formulation.start))
        return TerminationStatus.NODE_LIMIT

    monkeypatch.setattr(modelling, "solve_and_conclude", finds_nothing)
    for name in record.formulations:
        try:
            formulation = dlsched.formulate(instance, name, complete=True)
        except dlsched.UsageError:
            continue  # of the family's other objectives
        result = formulation.solve(start=start, limits=Limits(nodes=10))
        assert record.objective(instance, handed.pop()) == pytest.approx(start.objective)
        assert (result.status, result.objective) == (TerminationStatus.NODE_LIMIT, pytest.approx(start.objective))


def test_a_start_of_another_objective(complete):
    """The fewest GPUs, from an allocation that has them all."""
    gpus = complete.variables.gpus
    complete.model.setObjective(pulp.lpSum(n * x for (_, n), x in gpus.items()))
    result = complete.solve(start=dlsched.solve(ring_allocation.example()))
    assert sum(result.solution.gpus.values()) == 2


def test_wrong_starts(complete):
    """One that breaks an added row, one of another family, one where the model leaves solutions out."""
    best = dlsched.solve(ring_allocation.example())
    complete.model += complete.variables.gpus["a", 4] == 0
    with pytest.raises(dlsched.UsageError, match=r"^start: found a solution that breaks a row of the model"):
        complete.solve(start=best)
    with pytest.raises(dlsched.UsageError, match=r"^start: found Embedding, allowed: a solution of ring_allocation"):
        complete.solve(start=ring_embedding.Embedding({}))
    stream = FAMILIES["elastic_stream"].example()
    with pytest.raises(dlsched.UsageError, match=r"^start: found a model without complete=True"):
        dlsched.formulate(stream).solve(start=dlsched.solve(stream, method="fixed"))


def test_cpsat_takes_models_of_whole_variables(complete):
    """With a row of one's own; a variable that is none, or has no end, is named."""
    complete.model += complete.variables.gpus["a", 4] == 0
    others = complete.solve(solver="highs")
    result = complete.solve(solver="cpsat", start=others)
    assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(others.objective))
    complete.model += pulp.LpVariable("part", 0, 1) >= 0
    with pytest.raises(dlsched.UsageError, match="'part', allowed: bounded integers"):
        complete.solve(solver="cpsat")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_model_without_a_best_solution_is_unbounded(complete, solver, tmp_path):
    """Some solution is held; check takes the word on trust, as it is said of the model."""
    instance = ring_allocation.example()
    complete.model.setObjective(-1 * pulp.LpVariable("endless", 0))
    result = complete.solve(solver=solver)
    assert (result.status, result.bound) == (TerminationStatus.UNBOUNDED, None)
    assert result.solution is not None and "no end" in result.message
    dlsched.write(result, tmp_path / "result.json")
    read = dlsched.read_result(tmp_path / "result.json", instance)
    found = dlsched.verify(instance, read)
    assert read == result and found.failures == []
    assert any(said.startswith("unbounded, by ") and "not of the instance" in said for said in found.claimed)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_endless_relaxation_without_a_solution_is_infeasible(complete, solver):
    """Which CBC calls unbounded: twice a whole number is 1."""
    endless, half = pulp.LpVariable("endless", 0), pulp.LpVariable("half", 0, 1, pulp.LpInteger)
    complete.model.setObjective(-1 * endless)
    complete.model += 2 * half == 1
    assert complete.solve(solver=solver).status is TerminationStatus.INFEASIBLE


def least_of(values):
    return min(values), Sense.MINIMIZE


def most_of(values):
    return max(values), Sense.MAXIMIZE


@pytest.mark.parametrize(
    ("times", "plus", "sense", "answer"),
    [
        (2, 0, pulp.LpMinimize, least_of),
        (0.25, 7, pulp.LpMinimize, least_of),
        (-3, 0, pulp.LpMaximize, least_of),
        (1, 0, pulp.LpMaximize, most_of),
        (-0.5, 100, pulp.LpMinimize, most_of),
    ],
)
def test_multiples_of_the_objective_have_its_bound(complete, tmp_path, times, plus, sense, answer):
    """In the instance's own units, and the sense says which side is better: against all allocations."""
    complete.model.setObjective(times * complete.model.objective + plus)
    complete.model.sense = sense
    result = complete.solve()
    best, better = answer(values(6))
    assert (result.status, result.sense) == (TerminationStatus.OPTIMAL, better)
    assert (result.objective, result.bound) == (pytest.approx(best), pytest.approx(best, rel=1e-6))
    dlsched.write(result, tmp_path / "result.json")
    instance = ring_allocation.example()
    read = dlsched.read_result(tmp_path / "result.json", instance)
    assert read == result and dlsched.verify(instance, read).failures == []


def test_tighter_sides_are_as_rows(complete):
    """Three GPUs in place of six."""
    complete.model.constraints["capacity"].changeRHS(3)
    assert complete.solve().objective == pytest.approx(min(values(3)))


def removed(model):
    del model.constraints["stock_V100"]


def wider(model):
    model.constraints["stock_V100"].changeRHS(100)


def emptied(model):
    model.constraints["stock_V100"].expr.clear()


def bounds(model):
    model.variables()[0].upBound = 2


def kinds(model):
    model.variables()[0].cat = pulp.LpContinuous


@pytest.mark.parametrize("edit", [removed, wider, emptied, bounds, kinds])
def test_edited_rows_are_refused(edit):
    """Where points of the model are no placements any more; the row or variable is named."""
    formulation = dlsched.formulate(FAMILIES["matching_placement"].example(), "milp", complete=True)
    edit(formulation.model)
    with pytest.raises(dlsched.UsageError, match=r"formulation: found (row 'stock_V100'|variable 'x_\w+') changed or"):
        formulation.solve()


@pytest.mark.parametrize("row", [None, 5, pulp.LpVariable("x"), pulp.LpVariable("x") + 1])
def test_what_is_no_row_is_refused(complete, row):
    """An expression without a side, or no expression."""
    complete.model += complete.variables.gpus["a", 4] == 0, "mine"
    complete.model.constraints["mine"] = row
    with pytest.raises(
        dlsched.UsageError, match=r"^row 'mine': found .*, allowed: an expression <=, >= or == a number"
    ):
        complete.solve()
