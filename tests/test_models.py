"""The models folder: LP files are the examples', other solvers find the optimum in them, and every row has its name."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from documented import MODELS, assert_named, documented

import dlsched
from dlsched import FAMILIES
from dlsched.cli.instances import model_text
from dlsched.solvers.cbc import program

pytestmark = pytest.mark.filterwarnings("ignore:.*PuLP 4:DeprecationWarning")

INSTANCES = Path(__file__).parents[1] / "instances"
NAMES = [(family.name, name) for family in FAMILIES.values() for name in family.formulations]
WRITTEN = 1e-8  # relative; LP files hold 12 significant digits, CBC prints fewer
every_model = pytest.mark.parametrize(("family", "name"), NAMES)


def model(family: str, name: str) -> Any:
    """The model of the family's example."""
    return FAMILIES[family].formulations[name](FAMILIES[family].example()).model


def optimum(family: str, name: str) -> float:
    """The known optimum of the example, less the constant that files lose."""
    known = dlsched.read(INSTANCES / family / f"{FAMILIES[family].example().name}.json").known.optimum
    return float(known - model(family, name).objective.constant)


@every_model
def test_the_lp_file_is_current(family: str, name: str) -> None:
    """The file is, byte for byte, what an export of the example writes today."""
    written = (MODELS / family / f"{name}.lp").read_text(encoding="utf-8")
    example = FAMILIES[family].example()
    built = FAMILIES[family].formulations[name](example)
    assert written == model_text(built.model, "lp", FAMILIES[family].unit_for(example), built.unit)


@every_model
def test_scip_reads_the_file_and_finds_the_optimum(family: str, name: str) -> None:
    """SCIP, which dlsched did not call, proves the optimum from the text alone."""
    pyscipopt = pytest.importorskip("pyscipopt")
    read = pyscipopt.Model()
    read.hideOutput()
    read.readProblem(str(MODELS / family / f"{name}.lp"))
    read.setParam("limits/gap", 0.0)
    read.optimize()
    assert read.getStatus() == "optimal"
    assert read.getObjVal() == pytest.approx(optimum(family, name), rel=WRITTEN)


@every_model
def test_cbc_reads_the_file_and_finds_the_optimum(family: str, name: str, tmp_path: Path) -> None:
    """The CBC program, started here, proves the optimum from the text alone."""
    cbc, solution = program(), tmp_path / "solution.txt"
    if cbc is None:
        pytest.skip("this PuLP carries no CBC")
    file = MODELS / family / f"{name}.lp"
    said = subprocess.run(
        [cbc, str(file), "-ratio", "0", "-branch", "-solution", str(solution)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Optimal solution found" in said
    head = solution.read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("Optimal")
    assert abs(float(head.split()[-1])) == pytest.approx(optimum(family, name), rel=WRITTEN)


@every_model
def test_every_row_is_documented_and_the_other_way_round(family: str, name: str) -> None:
    """Rows and variables of the model are those of the README."""
    problem = model(family, name)
    assert_named(["OBJ", *problem.constraints], documented(family, name, "Rows"))
    assert_named([variable.name for variable in problem.variables()], documented(family, name, "Variables"))
