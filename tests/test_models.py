"""The models folder: its LP file is the example's, other solvers find the optimum in it, and every row has its name."""

import math
import re
import subprocess
from pathlib import Path

import pytest

from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping
from dlsched.cli.export import model_text
from dlsched.matching_placement.formulations.minlp import build_minlp as build_placement_minlp
from dlsched.ring_allocation.formulations.milp import build_milp
from dlsched.ring_allocation.formulations.minlp import build_minlp
from dlsched.solvers.cbc import program

pytestmark = pytest.mark.filterwarnings("ignore:.*PuLP 4:DeprecationWarning")

FOLDER = Path(__file__).parents[1] / "models" / "ring_allocation"
LP = FOLDER / "milp.lp"
PLACEMENTS = FOLDER.parent / "matching_placement"
OPTIMUM_S = 160 * 47.25 + 90.5 * (1e-3 * 50000 / 2 + 0.01 + 1e-9 * 1e8 / 2 + 0.2)  # a on 4 GPUs, b on 2, by hand
WRITTEN = 1e-11  # relative; the LP file holds 12 significant digits


def test_the_optimum_by_hand_is_the_checkers():
    """Every allocation that fits, tried here: none is better than 4 and 2, and the checker gives its cost."""
    instance = ring_allocation.example()
    fitting = [{"a": a, "b": b} for a in (1, 2, 4, 8) for b in range(1, 17) if a + b <= instance.gpus]
    costs = [ring_allocation.objective(instance, ring_allocation.Allocation(gpus)) for gpus in fitting]
    assert fitting[costs.index(min(costs))] == {"a": 4, "b": 2}
    assert min(costs) == pytest.approx(OPTIMUM_S, rel=1e-15)


def test_the_lp_file_is_current():
    """The file is, byte for byte, what an export of the example writes today."""
    assert LP.read_text(encoding="utf-8") == model_text(build_milp(ring_allocation.example())[0], "lp")


def test_scip_reads_the_file_and_finds_the_optimum():
    """SCIP, which dlsched did not call, proves the optimum from the text alone."""
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(LP))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(OPTIMUM_S, rel=WRITTEN)
    assert {variable.name for variable in model.getVars() if model.getVal(variable) > 0.5} == {"x_a_4", "x_b_2"}


def test_cbc_reads_the_file_and_finds_the_optimum(tmp_path):
    """The CBC program, started here, proves the optimum from the text alone."""
    cbc, solution = program(), tmp_path / "solution.txt"
    if cbc is None:
        pytest.skip("this PuLP carries no CBC")
    said = subprocess.run(
        [cbc, str(LP), "-ratio", "0", "-branch", "-solution", str(solution)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Optimal solution found" in said
    head, *lines = solution.read_text(encoding="utf-8").splitlines()
    assert head.startswith("Optimal")
    values = {fields[1]: float(fields[2]) for fields in map(str.split, lines)}
    assert {name for name, value in values.items() if value > 0.5} == {"x_a_4", "x_b_2"}
    assert float(head.split()[-1]) == pytest.approx(OPTIMUM_S, rel=1e-8)  # as many digits as CBC prints


def documented(section, table, folder=FOLDER):
    """First column of a table of the README: the names, with <...> standing for a job, a position or a count."""
    text = (folder / "README.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = text.split(f"\n{table}\n\n")[1].split("\n\n")[0].splitlines()
    return [re.fullmatch(r"\| `([^`]+)` \|.*", line)[1] for line in lines[2:]]


def pattern(name):
    """Regular expression of a documented name."""
    return re.compile(
        "".join(r"\w+" if part.startswith("<") else re.escape(part) for part in re.split(r"(<\w+>)", name))
    )


def assert_named(names, documents):
    """Every name of a model fits one documented name, and every documented name is used."""
    patterns = [pattern(name) for name in documents]
    for name in names:
        assert sum(bool(each.fullmatch(name)) for each in patterns) == 1, name
    for document, each in zip(documents, patterns, strict=True):
        assert any(map(each.fullmatch, names)), document


def test_every_row_of_the_milp_is_documented_and_the_other_way_round():
    """Rows and variables of the LP file are those of the README."""
    text = LP.read_text(encoding="utf-8")
    assert_named(re.findall(r"^(\w+):", text, re.MULTILINE), documented("milp", "Rows"))
    assert_named(text.split("Binaries\n")[1].split("End")[0].split(), documented("milp", "Variables"))


def test_every_row_of_the_minlp_is_documented_and_the_other_way_round():
    """Constraints, objective and variables of the Pyomo model of a table and of a law with a restart are the README's."""
    pyo = pytest.importorskip("pyomo.environ")
    law = {"theta": [2.0, 1.0, 0.0, 0.5], "samples": 8.0, "model_bytes": 0.0}
    jobs = [
        {"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 30.0, "4": 20.0}},
        {"id": "b", "epochs": 1.0, "speed_law": law, "current_gpus": 2, "restart_s": 0.5},
    ]
    model = build_minlp(ring_allocation.Instance(name="x", gpus=5, jobs=jobs)).program
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("minlp", "Rows"))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("minlp", "Variables"))


STREAMS = FOLDER.parent / "elastic_stream"


def test_the_lp_file_of_streams_is_current_and_scip_finds_its_optimum():
    """Byte for byte an export of the example; from the text alone 19.6 s: the constant that files lose is 0 in it."""
    pyscipopt = pytest.importorskip("pyscipopt")
    problem = elastic_stream.FAMILY.formulations["milp"](elastic_stream.example())
    assert (STREAMS / "milp.lp").read_text(encoding="utf-8") == model_text(problem, "lp")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(STREAMS / "milp.lp"))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(19.6, rel=1e-8)


def test_every_row_of_the_stream_program_is_documented_and_the_other_way_round():
    """Rows and variables of the model are those of the README."""
    problem = elastic_stream.FAMILY.formulations["milp"](elastic_stream.example())
    assert_named(["OBJ", *problem.constraints], documented("milp", "Rows", STREAMS))
    assert_named([variable.name for variable in problem.variables()], documented("milp", "Variables", STREAMS))


@pytest.mark.parametrize("formulation", ["milp", "assignment"])
def test_the_lp_files_of_placements_are_current_and_scip_finds_their_optimum(formulation):
    """Byte for byte an export of the example; from the text alone 364 s, by hand in the README."""
    pyscipopt = pytest.importorskip("pyscipopt")
    problem = matching_placement.FAMILY.formulations[formulation](matching_placement.example())
    file = PLACEMENTS / f"{formulation}.lp"
    assert file.read_text(encoding="utf-8") == model_text(problem, "lp")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(364.0, rel=1e-8)


@pytest.mark.parametrize("formulation", ["milp", "assignment"])
def test_every_row_of_the_placement_programs_is_documented_and_the_other_way_round(formulation):
    """Rows and variables of the models are those of the README."""
    problem = matching_placement.FAMILY.formulations[formulation](matching_placement.example())
    assert_named(["OBJ", *problem.constraints], documented(formulation, "Rows", PLACEMENTS))
    assert_named([variable.name for variable in problem.variables()], documented(formulation, "Variables", PLACEMENTS))


def test_every_row_of_the_placement_minlp_is_documented_and_the_other_way_round():
    """Constraints, objective and variables of the Pyomo model of the example are those of the README."""
    pyo = pytest.importorskip("pyomo.environ")
    model = build_placement_minlp(matching_placement.example()).model
    rows = [row.name for row in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert_named(rows, documented("minlp", "Rows", PLACEMENTS))
    variables = [variable.name for variable in model.component_data_objects(pyo.Var)]
    assert_named(variables, documented("minlp", "Variables", PLACEMENTS))


GANGS = FOLDER.parent / "srpt_mapping"


def test_the_lp_file_of_gangs_is_current_and_scip_finds_its_optimum():
    """Byte for byte an export of the example; from the text alone 25.5 s, by hand in the docstring, less the releases."""
    pyscipopt = pytest.importorskip("pyscipopt")
    problem = srpt_mapping.FAMILY.formulations["milp"](srpt_mapping.example())
    assert (GANGS / "milp.lp").read_text(encoding="utf-8") == model_text(problem, "lp")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(GANGS / "milp.lp"))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(25.5 - srpt_mapping.FAMILY.constant(srpt_mapping.example()), rel=1e-8)


def test_every_row_of_the_gang_program_is_documented_and_the_other_way_round():
    """Rows and variables of the model are those of the README."""
    problem = srpt_mapping.FAMILY.formulations["milp"](srpt_mapping.example())
    assert_named(["OBJ", *problem.constraints], documented("milp", "Rows", GANGS))
    assert_named([variable.name for variable in problem.variables()], documented("milp", "Variables", GANGS))


RINGS = FOLDER.parent / "ring_embedding"


@pytest.mark.parametrize("formulation", ["span", "arc"])
def test_the_lp_files_of_rings_are_current_and_scip_finds_their_optimum(formulation):
    """Byte for byte an export of the example; 66.78 by hand in its docstring, less 10 / (1 + e^4) that files lose."""
    pyscipopt = pytest.importorskip("pyscipopt")
    file = RINGS / f"{formulation}.lp"
    problem = ring_embedding.FAMILY.formulations[formulation](ring_embedding.example())
    assert file.read_text(encoding="utf-8") == model_text(problem, "lp")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    by_hand = 6 * math.sqrt(36) + 10 * math.log(9) + 10 / (1 + math.exp(-2))
    assert model.getObjVal() + 10 / (1 + math.exp(4)) == pytest.approx(by_hand, rel=1e-8)


@pytest.mark.parametrize("formulation", ["span", "arc"])
def test_every_row_of_the_ring_programs_is_documented_and_the_other_way_round(formulation):
    """Rows and variables of the models are those of the README."""
    problem = ring_embedding.FAMILY.formulations[formulation](ring_embedding.example())
    assert_named(["OBJ", *problem.constraints], documented(formulation, "Rows", RINGS))
    assert_named([variable.name for variable in problem.variables()], documented(formulation, "Variables", RINGS))


SERVERS = FOLDER.parent / "async_sgd"


def test_the_lp_file_of_parameter_servers_is_current_and_scip_finds_its_optimum():
    """Byte for byte an export of the example; from the text alone 4 nodes and 2, whose times are fractions by convolution."""
    pyscipopt = pytest.importorskip("pyscipopt")
    problem = async_sgd.FAMILY.formulations["milp"](async_sgd.example())
    file = SERVERS / "milp.lp"
    assert file.read_text(encoding="utf-8") == model_text(problem, "lp")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert {variable.name for variable in model.getVars() if model.getVal(variable) > 0.5} == {"x_a_4", "x_b_2"}
    assert model.getObjVal() == pytest.approx(3906.25 * 4920513 / 36956800 + 4000 * 133 / 1600, rel=1e-9)


def test_every_row_of_the_program_of_nodes_is_documented_and_the_other_way_round():
    """Rows and variables of the model are those of the README."""
    problem = async_sgd.FAMILY.formulations["milp"](async_sgd.example())
    assert_named(["OBJ", *problem.constraints], documented("milp", "Rows", SERVERS))
    assert_named([variable.name for variable in problem.variables()], documented("milp", "Variables", SERVERS))
