"""``dlsched export``: files that other programs read as the same model."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

import dlsched

OPTIMUM = 927118.96
INSTANCES = Path(__file__).parents[2] / "instances"


def scip_optimum(path: Path) -> float:
    """Optimum of a model file by SCIP, which reads it with its own parser."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return float(model.getObjVal())


@pytest.mark.parametrize("format_", ["lp", "mps"])
def test_the_exported_model_has_the_optimum(format_: str, cli: Any, example: Path, tmp_path: Path) -> None:
    """Read back by SCIP, it gives 927118.96 (by hand); names are those of the mathematics."""
    out = tmp_path / f"model.{format_}"
    ended = cli("export", example, "--format", format_, "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert scip_optimum(out) == pytest.approx(OPTIMUM, rel=1e-9)
    assert cli("export", example, "--format", format_).out == out.read_text(encoding="utf-8")
    for name in ("capacity", "choice_a", "choice_b", "x_a_4", "x_b_5"):
        assert name in out.read_text(encoding="utf-8")


def test_pulp_reads_its_mps_back(cli: Any, example: Path, tmp_path: Path) -> None:
    """With the same rows and columns."""
    import pulp

    out = tmp_path / "model.mps"
    cli("export", example, "--format", "mps", "-o", out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _, problem = pulp.LpProblem.fromMPS(str(out))
    assert set(problem.constraints) == {"capacity", "choice_a", "choice_b"}
    assert len(problem.variables()) == 3 + 5, "counts that cannot fit beside the other job are left out"


def test_names_that_no_format_takes_are_replaced(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """Ids of any characters and length give a file that SCIP reads."""
    two_jobs["jobs"][0]["id"] = "a job: <= 3 [x] \n 任务 " + "long " * 100
    two_jobs["jobs"][1]["id"] = "2e5"
    for format_ in ("lp", "mps"):
        out = tmp_path / f"model.{format_}"
        ended = cli("export", "-", "--format", format_, "-o", out, stdin=json.dumps(two_jobs))
        assert ended.code == 0
        assert scip_optimum(out) == pytest.approx(OPTIMUM, rel=1e-9)


def test_a_model_of_free_jobs_is_a_model(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """No epochs left and no restart: every cost is 0, and so is the optimum."""
    for job in two_jobs["jobs"]:
        job |= {"epochs": 0, "restart_s": 0}
    for format_ in ("lp", "mps"):
        out = tmp_path / f"model.{format_}"
        assert cli("export", "-", "--format", format_, "-o", out, stdin=json.dumps(two_jobs)).code == 0
        assert scip_optimum(out) == 0


@pytest.mark.parametrize(
    ("format_", "sign", "formulation"),
    [
        ("lp", 1, "arc"),
        ("mps", -1, "span"),
        pytest.param("lp", 1, "span", marks=pytest.mark.long),
        pytest.param("mps", -1, "arc", marks=pytest.mark.long),
    ],
)
def test_a_maximising_model_is_one_for_any_solver(
    format_: str, sign: int, formulation: str, cli: Any, tmp_path: Path
) -> None:
    """SCIP finds 66.78 of the two racks (by hand), negated in MPS, less the constant 10 / (1 + e^4) that files lose."""
    file, out = tmp_path / "two-racks.json", tmp_path / f"model.{format_}"
    dlsched.write(dlsched.ring_embedding.example(), file)
    ended = cli("export", file, "--formulation", formulation, "--format", format_, "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    optimum = 36 + 10 * math.log(9) + 10 / (1 + math.exp(-2))
    assert scip_optimum(out) == pytest.approx(sign * (optimum - 10 / (1 + math.exp(4))), rel=1e-9)


def test_without_a_name_it_is_the_first_formulation(cli: Any, example: Path) -> None:
    """``milp`` of the families that have it; the two racks have ``arc`` and ``span``."""
    racks = Path(__file__).parents[2] / "instances" / "ring_embedding" / "two-racks.json"
    for file, name in ((racks, "arc"), (example, "milp")):
        ended = cli("export", file)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == cli("export", file, "--formulation", name).out
    refused = cli("export", racks, "--formulation", "milp")
    assert refused.code != 0 and "allowed: arc, span" in refused.err


def test_a_minimising_model_keeps_its_sense_as_mps(cli: Any, example: Path, tmp_path: Path) -> None:
    """The costs of the two jobs are positive in the file, and it is minimised."""
    text = cli("export", example, "--format", "mps").out
    assert text.startswith("*SENSE:Minimize")
    assert all(
        float(line.split()[2]) > 0 for line in text.splitlines() if line.split()[1:2] == ["OBJ"] and line[1] != "N"
    )


@pytest.mark.parametrize(("format_", "mark"), [("lp", "\\*"), ("mps", "*")])
def test_the_head_says_unit_and_constant(format_: str, mark: str, cli: Any, tmp_path: Path) -> None:
    """The file's optimum and the constant at its head are the instance's optimum; SCIP reads past the comments."""
    instance = INSTANCES / "srpt_mapping" / "already-running.json"
    out = tmp_path / f"model.{format_}"
    assert cli("export", instance, "--format", format_, "-o", out).code == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(f"{mark} unit of the objective: seconds") for line in lines[:4])
    (said,) = [line for line in lines[:5] if "constant that the objective lacks: " in line]
    constant = float(said.split("lacks: ")[1].split(";")[0].split(" *")[0])
    assert constant > 0
    assert scip_optimum(out) + constant == pytest.approx(dlsched.read(instance).known.optimum, rel=1e-6)
