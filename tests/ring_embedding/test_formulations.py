"""The models: their optima by brute force and by each other, rows by hand, steps, prices of energy of any size."""

import functools
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import profile
from documented import assert_named, documented
from hypothesis import given
from scipy.optimize import linprog

import dlsched
from dlsched import FAMILIES
from dlsched.algorithms import whole_rows
from dlsched.catalogue.solvers import able
from dlsched.cli.instances import model_text
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, Stopped
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.ring_embedding import exact
from dlsched.ring_embedding.checker import check, objective
from dlsched.ring_embedding.formulations import workers
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.ring_embedding.generator import example
from dlsched.ring_embedding.heuristics.baselines import density, quick
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.methods import METHODS
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import charged, one_slot
from .test_brute_force import TRIANGLE, job, made

pytestmark = pytest.mark.usefixtures("in_process")

SOLVED = 1e-6  # relative, of what a solver with tolerances calls optimal


def search_of(instance, **options):
    """A search as the runners of methods get it."""
    return Search(
        objective=functools.partial(objective, instance),
        check=functools.partial(check, instance),
        sense=Sense.MAXIMIZE,
        limits=options.pop("limits", Limits()),
        **options,
    )


def solved(build, instance, solver="highs"):
    """Objective by the checker of the answer that a solver calls optimal; its bound meets it."""
    built = build(instance)
    outcome = solve_milp(built.model, solver=solver, isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL, outcome.message
    embedding = built.decode(outcome.values)
    assert check(instance, embedding) == []
    value = objective(instance, embedding)
    assert outcome.bound * built.unit == pytest.approx(value, rel=SOLVED, abs=SOLVED)
    return value


def by_circuit(instance):
    """The same by CP-SAT."""
    search = search_of(instance)
    assert METHODS["circuit"].run(instance, search) is TerminationStatus.OPTIMAL, search.message
    assert search.bound == pytest.approx(search.objective, rel=SOLVED, abs=SOLVED)
    return search.objective


def agree(seed, *, forest):
    """All models by all solvers on an instance of one slot; whether a ring has three servers or more."""
    instance = one_slot(seed, forest=forest)
    value, embedding = brute_force_ring(instance)
    build = build_span if forest else build_arc
    values = [
        solved(build_arc, instance),
        by_circuit(instance),
        solved(build, instance),
        solved(build, instance, "scip"),
    ]
    assert values == pytest.approx([value] * 4, rel=SOLVED, abs=SOLVED)
    return any(len(ring.order) > 2 for held in embedding.slots.values() for ring in held.values())


@pytest.mark.parametrize("forest", [True, False])
def test_models_and_solvers_agree(forest):
    """A sample of the campaign."""
    assert any([agree(seed, forest=forest) for seed in ((3, 6, 8) if forest else (2, 3))])


@pytest.mark.long
@pytest.mark.parametrize(("block", "forest"), [*((block, True) for block in range(5)), (0, False), (1, False)])
def test_models_and_solvers_agree_on_many(block, forest):
    """500 forests and 200 graphs with listed paths, no mismatch."""
    assert any([agree(seed, forest=forest) for seed in range(100 * block, 100 * block + 100)])


@pytest.mark.parametrize("build", [build_span, build_arc])
def test_the_relaxation_is_a_bound(build):
    """Linear programs bound the optimum from above, and never by less than nothing."""

    @profile(15)
    @given(ring_embedding_instances(forest=True))
    def agrees(instance):
        built = build(instance)
        model = from_pulp(built.model)
        if not model.names:
            return
        assert np.isinf(model.row_lower[model.row_lower != model.row_upper]).all()
        equal = model.row_lower == model.row_upper
        matrix = model.matrix()
        answer = linprog(
            -model.costs,
            A_ub=matrix[np.flatnonzero(~equal)],
            b_ub=model.row_upper[~equal],
            A_eq=matrix[np.flatnonzero(equal)] if equal.any() else None,
            b_eq=model.row_upper[equal] if equal.any() else None,
            bounds=np.column_stack((model.lower, model.upper)),
        )
        value = brute_force_ring(instance)[0]
        assert (model.constant - answer.fun) * built.unit >= value - SOLVED * max(1.0, value)

    agrees()


def rows_of(problem):
    """Rows as text by name."""
    return {name: str(constraint) for name, constraint in problem.constraints.items()}


def test_rows_of_the_span_model_by_hand():
    """Two linked servers and a third alone: what cannot bind is not there; 0.3 and 0.5 of 0.9 GPUs are 3 and 5 of 9."""
    jobs = [job("a", workers=2, demand={"gpu": 0.3}, budget={"gpu": 0.7}), job("b", demand={"gpu": 0.5}, load=0.5)]
    built = build_span(made([0.9, 0.9, 0.2], [("s0", "s1", 1.25)], *jobs))
    assert built.unit == 1
    assert rows_of(built.model) == {
        "utility_a": "g_a_1 + g_a_2 - y_a_s0_1 - y_a_s1_1 <= -0.0",
        "utility_b": "g_b_1 + g_b_2 - y_b_s0_1 - y_b_s1_1 <= -0.0",
        "workers_a_1": "y_a_s0_1 + y_a_s1_1 <= 2.0",
        "capacity_s0_gpu_1": "3.0*y_a_s0_1 + 5.0*y_b_s0_1 <= 9.0",
        "capacity_s1_gpu_1": "3.0*y_a_s1_1 + 5.0*y_b_s1_1 <= 9.0",
        **{
            f"{side}_{name}_s0_s1_1": f"-{most}{side}_{name}_s0_s1_1 + y_{name}_{server}_1 <= -0.0"
            for name, most in (("a", "2*"), ("b", ""))
            for side, server in (("near", "s0"), ("far", "s1"))
        },
        "span_a_s0_s1_1": "far_a_s0_s1_1 + near_a_s0_s1_1 - span_a_s0_s1_1 <= 1.0",
        "span_b_s0_s1_1": "far_b_s0_s1_1 + near_b_s0_s1_1 - span_b_s0_s1_1 <= 1.0",
        "bandwidth_s0_s1_1": "2.0*span_a_s0_s1_1 + span_b_s0_s1_1 <= 2.0",
    }


def test_parts_and_budgets_have_rows():
    """Two parts, of which a job uses one; a budget of three worker-slots in two slots of two."""
    rows = rows_of(build_span(made([1, 1], [], job("a", workers=2, budget={"gpu": 1.5}), slots=2)).model)
    assert rows["part_a_0_1"] == "-part_a_0_1 + y_a_s0_1 <= -0.0"
    assert rows["ring_a_2"] == "part_a_0_2 + part_a_1_2 <= 1.0"
    assert rows["budget_a"] == "y_a_s0_1 + y_a_s0_2 + y_a_s1_1 + y_a_s1_2 <= 1.0"


def test_rows_of_the_arc_model_by_hand():
    """A ring of two uses both directions of the path between them."""
    rows = rows_of(build_arc(made([1, 1], [("s0", "n", 1.0), ("n", "s1", 0.5)], job("a"), switches=["n"])).model)
    assert rows["bandwidth_n_s1_1"] == "a_a_s0_s1_1 <= -0.0"
    assert rows["bandwidth_s1_n_1"] == "a_a_s1_s0_1 <= -0.0"
    assert not any(name.startswith(("bandwidth_s0", "bandwidth_n_s0")) for name in rows)
    assert rows["hosts_a_s0_1"] == "-a_a_s0_s1_1 - alone_a_s0_1 + y_a_s0_1 <= -0.0"
    assert rows["in_a_s0_1"] == "-a_a_s0_s1_1 + a_a_s1_s0_1 = -0.0"
    assert rows["tour_a_s0_s1_1"] == "2*a_a_s0_s1_1 - 2*first_a_s1_1 + u_a_s0_1 - u_a_s1_1 <= 1.0"


@pytest.mark.parametrize("build", [build_arc, None])
def test_one_cycle_not_two(build):
    """Four workers on two pairs of servers with paths inside the pairs only: one ring of two at most."""
    links = [("s0", "s1", 1.0), ("s1", "s2", 1.0), ("s2", "s3", 1.0)]
    instance = made([1, 1, 1, 1], links, job(workers=4), paths=["s0 s1", "s2 s3"])
    assert (by_circuit(instance) if build is None else solved(build, instance)) == pytest.approx(2.0, rel=SOLVED)
    closed = made([1, 1, 1, 1], [*links, ("s3", "s0", 1.0)], job(workers=4), paths=["s0 s1", "s1 s2", "s2 s3", "s3 s0"])
    assert (by_circuit(closed) if build is None else solved(build, closed)) == pytest.approx(4.0, rel=SOLVED)


def test_the_span_model_is_one_of_forests():
    """Listed paths are refused."""
    with pytest.raises(UsageError, match="forests; found listed paths"):
        build_span(made([1, 1, 1], TRIANGLE, job(), paths=["s0 s1"]))


def test_models_that_are_too_large_are_refused(monkeypatch):
    """By their number of variables, before they are built."""
    monkeypatch.setattr(workers, "LARGEST", 20)
    instance = made([1] * 8, [], job(), slots=3)
    for build in (build_span, build_arc, build_circuit):
        with pytest.raises(UsageError, match="variables or more, allowed: up to 20"):
            build(instance)


@pytest.mark.parametrize("power", [-100, 300])
def test_utilities_of_any_size(power):
    """Times a power of two all utilities, and the optimum, are multiplied; the model's unit is stated in its name."""
    data = example().model_dump()
    before = build_span(example()).model
    for each in data["jobs"]:
        name = "scale" if "scale" in each["utility"] else "height"
        each["utility"][name] = math.ldexp(each["utility"][name], power)
    instance = Instance.model_validate(data)
    value = math.ldexp(brute_force_ring(example())[0], power)
    built = build_span(instance)
    found = built.decode(solve_milp(built.model, isolated=False).values)
    assert objective(instance, found) == pytest.approx(value, rel=1e-9)
    assert rows_of(built.model) == rows_of(before)
    assert built.model.name == f"ring_embedding_in_units_of_2_to_the_{math.frexp(built.unit)[1] - 1}"
    assert 2**8 <= value / built.unit < 2**10  # the most that the utilities can be is less than twice the optimum
    assert by_circuit(instance) == pytest.approx(value, rel=1e-9)


def almost():
    """Two demands exceed a GPU by 5e-9: less than what solvers tolerate, more than what the checker does."""
    return made(
        [0.999999985], [], job("a", workers=1, demand={"gpu": 0.5}), job("b", workers=1, demand={"gpu": 0.49999999})
    )


def test_what_only_a_solvers_tolerance_allows_is_left_out(monkeypatch):
    """The embedding stays feasible; the bound counts both jobs, so it is no proven optimum; whole numbers know better."""
    assert by_circuit(almost()) == 1.0 == brute_force_ring(almost())[0]
    assert solved(build_span, almost()) == 1.0
    monkeypatch.setattr(whole_rows, "_POINTS", 0)
    search = search_of(almost())
    assert METHODS["milp"].run(almost(), search) is TerminationStatus.FEASIBLE
    assert "its bound proves less" in search.message
    assert (search.objective, round(search.bound, 6)) == (1.0, 2.0)


def test_circuits_need_whole_numbers(monkeypatch):
    """A third and a half of a GPU have no unit of which they are few multiples; the message names the resource."""
    monkeypatch.setattr(whole_rows, "_POINTS", 0)
    jobs = [job("a", demand={"gpu": 1 / 3}), job("b", demand={"gpu": 0.5})]
    with pytest.raises(UsageError, match="found demands of 'gpu' that are no whole multiples"):
        build_circuit(made([1], [], *jobs))
    jobs = [job("a", load=1 / 3), job("b", load=0.5)]
    with pytest.raises(UsageError, match="found bandwidths of rings on"):
        build_circuit(made([1, 1], [("s0", "s1", 1.0)], *jobs))


def test_what_steps_hide_is_in_the_bound():
    """Two GPUs, where three are worth 10: two are worth 10 exp(-50), less than 2**-60 of that, and no step of their own."""
    steep = {"kind": "sigmoid", "height": 10.0, "steepness": 50.0, "midpoint": 3.0}
    instance = made([2], [], job(workers=2, utility=steep), job("b", workers=9, utility=steep, demand={"gpu": 0.2}))
    circuit = build_circuit(instance)
    assert circuit.error <= 20 * 2.0**-58
    lone = made([2, 1], [("s0", "s1", 0.5)], job(utility=steep))
    held = by_circuit(lone)
    assert held <= brute_force_ring(lone)[0] == pytest.approx(10 * math.exp(-50), rel=1e-9)
    assert build_circuit(lone).bound(0) >= 10 * math.exp(-50)


RUNNERS = [METHODS[name].follow for name in ("milp", "arc", "circuit")]


@pytest.mark.parametrize("run", RUNNERS)
def test_runners(run):
    """66.78, by hand in the example's docstring; with no time and no node what is quick, checked, and no bound."""
    search = search_of(example())
    assert run(example(), search) is TerminationStatus.OPTIMAL
    by_hand = 6 * math.sqrt(36) + 10 * math.log(9) + 10 / (1 + math.exp(-2))
    assert search.objective == pytest.approx(by_hand, rel=1e-9)
    assert check(example(), search.solution) == []
    assert search.proven
    for limits, status, held in (
        (Limits(time_s=0), TerminationStatus.TIME_LIMIT, quick),
        (Limits(nodes=0), TerminationStatus.NODE_LIMIT, density),
    ):
        search = search_of(example(), limits=limits)
        with pytest.raises(Stopped) as stopped:
            run(example(), search)
        assert stopped.value.status is status
        assert (search.solution, search.bound) == (held(example()), None)


@pytest.mark.parametrize("solver", able("milp"))
@pytest.mark.parametrize("run", RUNNERS[:2])
def test_bounds_at_a_node_limit_are_true(run, solver):
    """Stopped early or not: no bound is below the optimum, no objective above it."""
    instance = one_slot(3, forest=True)
    value = brute_force_ring(instance)[0]
    for nodes in (1, 3):
        search = search_of(instance, limits=Limits(nodes=nodes), solver=solver)
        assert run(instance, search) in (TerminationStatus.NODE_LIMIT, TerminationStatus.OPTIMAL)
        assert search.objective <= value * (1 + SOLVED)
        assert search.bound is None or search.bound >= value * (1 - SOLVED)


@pytest.mark.parametrize("run", RUNNERS)
def test_nothing_can_run(run):
    """Models without variables have an answer too: a job of three GPUs, none of that size."""
    instance = made([2], [], job(demand={"gpu": 3.0}))
    search = search_of(instance)
    assert run(instance, search) is TerminationStatus.OPTIMAL
    assert (search.objective, search.bound, search.solution) == (0.0, 0.0, Embedding({}))


ROOT = Path(__file__).parents[2]


def best(run, instance, solver=None):
    """The proven optimum, from nothing on."""
    search = search_of(instance, solver=solver)
    search.offer(Embedding({}), source="nothing")
    assert run(instance, search) is TerminationStatus.OPTIMAL, search.message
    assert search.bound == pytest.approx(search.objective, rel=SOLVED, abs=1e-12)
    return search.objective


def test_rows_by_hand():
    """A server that costs 0.5 and one that costs nothing; a worker costs 0.25 and earns 1."""
    held = charged(made([1, 2], [("s0", "s1", 9.0)], job(), job("b", workers=1)), [0.5, 0.0], 0.25)
    built = build_span(held)
    rows = rows_of(built.model)
    assert rows["capacity_s0_gpu_1"] == "-on_s0_1 + y_a_s0_1 + y_b_s0_1 <= -0.0"
    assert rows["capacity_s1_gpu_1"] == "y_a_s1_1 + y_b_s1_1 <= 2.0"
    assert rows["on_a_s0_1"] == "-on_s0_1 + y_a_s0_1 <= -0.0"
    assert not any(name.startswith("on_a_s1") for name in rows)
    prices = {variable.name: cost for variable, cost in built.model.objective.items() if variable.name[0] in "yo"}
    assert prices == {"on_s0_1": -0.5} | {f"y_{name}_{server}_1": -0.25 for name in "ab" for server in ("s0", "s1")}
    assert best(exact.run_milp, held) == 3 * 0.75 - 0.5


def test_worker_slots_that_do_not_pay_are_left_out():
    """Gains 4, 1, 1 and 0 at 1.75 each: three earn 6 - 5.25, four less than nothing; one is best. A server for 7 stays off."""
    table = {"kind": "table", "progress": [0, 1, 3], "worth": [2, 6, 8]}
    instance = charged(made([4], [], job(workers=4, utility=table)), [0.0], workers=1.75)
    assert rows_of(build_span(instance).model)["budget_a"] == "y_a_s0_1 <= 3.0"
    assert best(exact.run_circuit, instance) == best(exact.run_milp, instance) == 6 - 1.75
    dear = build_span(charged(instance, [7.0], workers=0.0)).model
    assert not any(variable.name.startswith("y") for variable in dear.variables())


@pytest.mark.parametrize("run", [exact.run_milp, exact.run_arc, exact.run_circuit])
def test_nothing_is_worth_its_energy(run):
    """Two servers for 1.01 each, where one worker fits that earns 1: proven to be nothing, which solvers see to 1e-11 only."""
    assert best(run, charged(made([1, 1], [("s0", "s1", 1.0)], job()), [1.01, 1.01])) == 0.0


@pytest.mark.parametrize("run", [exact.run_milp, exact.run_arc, exact.run_circuit])
def test_nothing_is_worth_anything(run):
    """Of a model without costs the optimum is its constant, and no solver is off by anything."""
    flat = {"kind": "table", "progress": [0.0], "worth": [0.0]}
    instance = made([1, 1], [("s0", "s1", 1.0)], job(utility=flat))
    assert best(run, instance) == best(run, charged(instance, [0.0, 1.0])) == 0.0


@pytest.mark.parametrize("build", [build_span, build_arc])
@pytest.mark.parametrize("price", [1e-90, 1e90])
def test_prices_of_any_size(build, price):
    """A price of 1e-90 changes nothing; one of 1e90, were it in the model, would hide all utilities."""
    instance = charged(made([2, 2], [("s0", "s1", 1.0)], job(workers=2)), [price, 0.0])
    outcome = solve_milp(build(instance).model, isolated=False)
    assert outcome.objective == pytest.approx(2.0, rel=1e-9)


def test_rounded_prices_are_in_the_bound_of_circuits():
    """200 thirds in multiples of 2**-32, as all together are 167: each is off by half of that at most, and not by nothing."""
    instance = charged(made([1], [], job(workers=1), slots=100), [1 / 3], workers=1 / 3)
    circuit = build_circuit(instance)
    assert 0 < circuit.error <= 200 * 2.0**-33
    assert best(exact.run_circuit, instance) == pytest.approx(100 / 3, rel=1e-12)


def test_circuits_of_max_min_need_quotas():
    """The circuit model has no least utility."""
    with pytest.raises(UsageError, match="max_min is one of quotas"):
        build_circuit(made([1], [], job()).model_copy(update={"objective": "max_min"}))


def test_rows_are_documented():
    """Those of energy and of the least utility; those of quotas: in ``test_rounds``."""
    for name, section, prefix in (("power-and-links", "energy", "on_"), ("least-first", "max_min", "least")):
        problem = build_span(dlsched.read(ROOT / "instances" / "ring_embedding" / f"{name}.json")).model
        for named, table in ((problem.variablesDict(), "Variables"), (problem.constraints, "Rows")):
            documents = documented("ring_embedding", section, table)
            assert_named([each for each in named if each.startswith(prefix)], documents)


@pytest.mark.parametrize(("name", "file"), [("power-and-links", "energy.lp"), ("least-first", "max-min.lp")])
def test_lp_files_are_current(name, file):
    """Byte for byte what an export writes today; SCIP finds the optimum from the text alone."""
    pyscipopt = pytest.importorskip("pyscipopt")
    instance = dlsched.read(ROOT / "instances" / "ring_embedding" / f"{name}.json")
    built, path = build_span(instance), ROOT / "models" / "ring_embedding" / file
    unit = FAMILIES["ring_embedding"].unit_for(instance)
    assert path.read_text(encoding="utf-8") == model_text(built.model, "lp", unit, built.unit)
    read = pyscipopt.Model()
    read.hideOutput()
    read.readProblem(str(path))
    read.optimize()
    assert read.getObjVal() + built.model.objective.constant == pytest.approx(instance.known.optimum, rel=1e-9)
