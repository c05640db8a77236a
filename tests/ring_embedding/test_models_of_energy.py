"""Models with priced energy: their optima by brute force and by each other, rows by hand, prices of any size."""

import functools
from pathlib import Path

import pytest
from documented import assert_named, documented
from hypothesis import assume, given

import dlsched
from dlsched import FAMILIES
from dlsched.cli.instances import model_text
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import exact
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.span import build_span
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers import milp
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .test_brute_force import job, made, profile
from .test_formulations import SOLVED, rows_of, search_of

ROOT = Path(__file__).parents[2]
WAYS = [
    (exact.run_milp, "highs", 15),
    (exact.run_milp, "scip", 8),
    (exact.run_milp, "cbc", 8),
    (exact.run_arc, "highs", 12),
    (exact.run_arc, "scip", 6),
    (exact.run_arc, "cbc", 6),
    (exact.run_circuit, "cpsat", 15),
]


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    """No child processes: they cost a second each."""
    fast = functools.partial(solve_milp, isolated=False)
    monkeypatch.setattr(milp, "solve_milp", fast)
    monkeypatch.setattr(exact, "solve_milp", fast)


def powered(instance, *, on=(), workers=0.0, price=1.0):
    """Watts are thousands, so that a server costs ``on`` in a slot of an hour, and a worker ``workers``."""
    nodes = [node.model_dump() | {"power_on_w": 1000 * each} for node, each in zip(instance.nodes, on, strict=True)]
    jobs = [each.model_dump() | {"worker_power_w": 1000 * workers} for each in instance.jobs]
    return Instance(**(instance.model_dump() | {"nodes": nodes, "jobs": jobs, "energy_price_per_kwh": price}))


def best(run, instance, solver=None):
    """The proven optimum, from nothing on."""
    search = search_of(instance, solver=solver)
    search.offer(Embedding({}), source="nothing")
    assert run(instance, search) is TerminationStatus.OPTIMAL, search.message
    assert search.bound == pytest.approx(search.objective, rel=SOLVED, abs=1e-12)
    return search.objective


@pytest.mark.parametrize(("run", "solver", "examples"), WAYS)
def test_optimum_is_brute_forces(run, solver, examples):
    """Every solver finds the optimum of every model, of all kinds of utilities."""

    @profile(examples)
    @given(ring_embedding_instances(objectives="sum"))
    def agrees(instance):
        assume(instance.charges)
        assert best(run, instance, solver) == pytest.approx(brute_force_ring(instance)[0], rel=SOLVED, abs=SOLVED)

    agrees()


def test_rows_by_hand():
    """A server that costs 0.5 and one that costs nothing; a worker costs 0.25 and earns 1."""
    held = powered(made([1, 2], [("s0", "s1", 9.0)], job(), job("b", workers=1)), on=[0.5, 0.0], workers=0.25)
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
    instance = powered(made([4], [], job(workers=4, utility=table)), on=[0.0], workers=1.75)
    assert rows_of(build_span(instance).model)["budget_a"] == "y_a_s0_1 <= 3.0"
    assert best(exact.run_circuit, instance) == best(exact.run_milp, instance) == 6 - 1.75
    dear = build_span(powered(instance, on=[7.0], workers=0.0)).model
    assert not any(variable.name.startswith("y") for variable in dear.variables())


@pytest.mark.parametrize("run", [exact.run_milp, exact.run_arc, exact.run_circuit])
def test_nothing_is_worth_its_energy(run):
    """Two servers for 1.01 each, where one worker fits that earns 1: proven to be nothing, which solvers see to 1e-11 only."""
    assert best(run, powered(made([1, 1], [("s0", "s1", 1.0)], job()), on=[1.01, 1.01])) == 0.0


@pytest.mark.parametrize("run", [exact.run_milp, exact.run_arc, exact.run_circuit])
def test_nothing_is_worth_anything(run):
    """Of a model without costs the optimum is its constant, and no solver is off by anything."""
    flat = {"kind": "table", "progress": [0.0], "worth": [0.0]}
    instance = made([1, 1], [("s0", "s1", 1.0)], job(utility=flat))
    assert best(run, instance) == best(run, powered(instance, on=[0.0, 1.0])) == 0.0


@pytest.mark.parametrize("build", [build_span, build_arc])
@pytest.mark.parametrize("price", [1e-90, 1e90])
def test_prices_of_any_size(build, price):
    """A price of 1e-90 changes nothing; one of 1e90, were it in the model, would hide all utilities."""
    instance = powered(made([2, 2], [("s0", "s1", 1.0)], job(workers=2)), on=[price, 0.0])
    outcome = solve_milp(build(instance).model, isolated=False)
    assert outcome.objective == pytest.approx(2.0, rel=1e-9)


def test_rounded_prices_are_in_the_bound_of_circuits():
    """200 thirds in multiples of 2**-32, as all together are 167: each is off by half of that at most, and not by nothing."""
    instance = powered(made([1], [], job(workers=1), slots=100), on=[1 / 3], workers=1 / 3)
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
