"""Every exit code of the contract, for every command that can end with it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.catalogue.solvers import SOLVERS, Solver
from dlsched.core.errors import SolverError
from dlsched.core.status import TerminationStatus
from dlsched.solvers.outcome import Outcome

from .conftest import PROGRAM

Command = Callable[..., Any]
WRONG_USAGE = [
    "",
    "nosuch",
    "solve",
    "solve FILE --method nosuch",
    "solve FILE --method exact --solver highs",
    "solve FILE --method doubling --solver highs",
    "solve FILE --method milp --solver nosuch",
    "solve FILE --method minlp --solver cbc",
    "solve FILE --cross-check nosuch",
    "solve FILE --method milp --cross-check highs",
    "solve FILE --method milp --solver cbc --cross-check cbc",
    "solve FILE --method minlp --cross-check scip",
    "solve FILE --time-limit -1",
    "solve FILE --time-limit nan",
    "solve FILE --time-limit inf",
    "solve FILE --time-limit soon",
    "solve FILE --node-limit -1",
    "solve FILE --node-limit 1.5",
    "solve FILE --threads 0",
    "solve FILE --seed -1",
    "solve FILE --seed 0.5",
    "solve FILE --nosuch",
    "solve FILE FILE",
    "compare",
    "compare FILE --methods nosuch",
    "compare FILE --methods exact,nosuch",
    "compare FILE --methods exact --time-limit -1",
    "compare FILE --methods exact --json --csv",
    "bound",
    "bound FILE --nosuch",
    "prove FILE",
    "prove -o OUT",
    "prove FILE -o OUT --formulation nosuch",
    "prove FILE -o OUT --gap -1",
    "prove FILE -o OUT --gap 1",
    "prove FILE -o OUT --time-limit -1",
    "prove FILE -o OUT --node-limit 0.5",
    "prove FILE -o OUT --threads 0",
    "solve FILE --proof -",
    "check FILE",
    "generate",
    "generate nosuch",
    "generate ring_allocation --preset nosuch",
    "generate ring_allocation --jobs 0",
    "generate ring_allocation --jobs 2.5",
    "generate ring_allocation --gpus 0",
    "generate ring_allocation --max-gpus 0",
    "generate ring_allocation --seed -1",
    "methods nosuch",
    "doctor --nosuch",
    "export FILE --formulation nosuch",
    "export FILE --format nosuch",
    "schema",
    "schema nosuch",
    "import nosuch FILE",
    "import pcs",
    "import TRACE --source pcs --gpus 0",
    "import TRACE --source pcs --epochs -1",
    "import TRACE --source pcs --epochs nan",
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "speedups.csv"
    path.write_text("model,iters_expr,gpus,us_per_iter\nVggnetModel256,153740040 // 256,1,1000\n")
    return path


@pytest.mark.parametrize("line", WRONG_USAGE)
def test_2_for_wrong_usage(line: str, cli: Command, example: Path, trace: Path) -> None:
    """A command, option or name that does not exist or is out of range: exit 2, a message, no traceback."""
    ended = cli(*({"FILE": example, "TRACE": trace}.get(word, word) for word in line.split()))
    assert ended.code == 2, ended
    assert "Traceback" not in ended.err
    assert ended.err or not line


@pytest.mark.parametrize("line", ["--help", "--version", "methods", "solve --help", "schema ring_allocation"])
def test_0_for_what_only_tells(line: str, cli: Command) -> None:
    """Help, version and lists go to standard output."""
    ended = cli(*line.split())
    assert (ended.code, ended.err) == (0, "")
    assert ended.out


def test_3_for_a_missing_trace(cli: Command) -> None:
    """The importer names the file."""
    ended = cli("import", "missing.csv", "--source", "pcs")
    assert (ended.code, ended.line) == (3, "dlsched: missing.csv: cannot be read: No such file or directory")


@pytest.mark.parametrize("method", ["exact", "dp", "milp", "minlp", "doubling", "marginal", "hull", "fixed", "equal"])
def test_4_where_a_count_proves_infeasibility(
    method: str, cli: Command, two_jobs: dict[str, Any], save: Command
) -> None:
    """One GPU for two jobs: every method says infeasible, heuristics and a zero time limit too."""
    path = save(two_jobs | {"gpus": 1})
    for limit in ((), ("--time-limit", "0")):
        ended = cli("solve", path, "--method", method, "--json", *limit)
        assert (ended.code, ended.json["status"], ended.json["solution"]) == (4, "infeasible", None)
    assert cli("bound", path).code == 4


def test_5_where_a_heuristic_finds_nothing(cli: Command, example: Path) -> None:
    """``fixed`` gives 8 GPUs to each of two jobs; there are 6."""
    ended = cli("solve", example, "--method", "fixed", "--json")
    assert (ended.code, ended.json["status"], ended.json["solution"]) == (5, "no_solution", None)


@pytest.mark.parametrize("method", ["exact", "dp", "milp", "minlp"])
def test_0_at_a_limit_with_a_solution_held(method: str, cli: Command, example: Path) -> None:
    """A zero limit starts no search and still holds the start heuristic's answer."""
    for option, status in (("--time-limit", "time_limit"), ("--node-limit", "node_limit")):
        ended = cli("solve", example, "--method", method, option, "0", "--json")
        assert (ended.code, ended.json["status"]) == (0, status)
        assert sum(ended.json["solution"]["gpus"].values()) <= 6


def test_a_limit_of_a_moment_holds_no_less_than_a_limit_of_zero(cli: Command, example: Path) -> None:
    """1e-9 s end with the start heuristic's answer too; only the price search, which no limit cuts, may prove the optimum."""
    for method in ("exact", "dp", "milp", "minlp"):
        ended = cli("solve", example, "--method", method, "--time-limit", "1e-9", "--json")
        allowed = {"time_limit", "optimal"} if method == "exact" else {"time_limit"}
        assert ended.code == 0 and ended.json["status"] in allowed, method


def test_6_for_a_solver_that_is_not_installed(cli: Command, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named with how to install it; ``compare`` makes it a row; what needs no solver goes on."""
    monkeypatch.setattr(Solver, "missing", lambda self, kind: self.package)
    for method, solver in (("milp", "highs"), ("milp", "cbc"), ("milp", "cpsat"), ("minlp", "scip")):
        ended = cli("solve", example, "--method", method, "--solver", solver)
        assert (ended.code, ended.out) == (6, "")
        assert ended.line.startswith(f"dlsched: solver {solver} is not here; install ")
    assert cli("solve", example, "--cross-check", "cbc").code == 6
    assert cli("solve", example).code == 0
    compared = cli("compare", example, "--methods", "milp,doubling", "--json")
    assert compared.code == 0
    assert "solver highs is not here" in compared.json[0]["status"]
    assert {entry["name"]: entry["available"] for entry in cli("methods", "--json").json}["milp"] is False
    examined = cli("doctor", "--json")
    assert examined.code == 0
    assert not any(row["available"] or row["works"] for row in examined.json)


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ("pulp", "solve FILE --method milp"),
        ("pulp", "export FILE"),
        ("pulp", "prove FILE -o OUT"),
        ("pyscipopt", "prove FILE -o OUT"),
        ("pyomo.environ", "solve FILE --method minlp"),
        ("pyscipopt", "solve FILE --method milp --solver scip"),
        ("ortools", "solve FILE --method milp --solver cpsat"),
        ("scipy", "solve FILE --method milp --solver highs"),
    ],
)
def test_6_for_a_package_that_is_missing(
    missing: str, line: str, cli: Command, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever package a model or a solver needs: it is named, with how to install it."""
    monkeypatch.setitem(sys.modules, missing, None)
    ended = cli(*({"FILE": example}.get(word, word) for word in line.split()))
    assert (ended.code, ended.out) == (6, "")
    assert f"pip install {missing.split('.')[0]}" in ended.line


def test_a_missing_package_is_a_row_and_no_failure_of_the_doctor(
    cli: Command, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``compare`` goes on; SCIP without Pyomo still solves linear models."""
    monkeypatch.setitem(sys.modules, "pyomo.environ", None)
    monkeypatch.setitem(sys.modules, "pyomo", None)
    compared = cli("compare", example, "--methods", "minlp,doubling", "--json")
    assert compared.code == 0
    assert "pip install pyomo" in compared.json[0]["status"]
    assert compared.json[1]["status"] == "feasible"
    monkeypatch.setattr("dlsched.cli.listing.SOLVERS", {"scip": SOLVERS["scip"]})
    examined = cli("doctor", "--json")
    assert (examined.code, examined.json[0]["smoke"]) == (0, "linear: 14, proven; minlp: pip install pyomo")


def liar(**facts: Any) -> Command:
    """Return a solver that states what it is told to."""
    return lambda *arguments, **named: Outcome(**facts)


@pytest.mark.parametrize("lie", ["proves too much", "proves more than is held", "infeasible"])
def test_7_when_two_solvers_disagree(
    lie: str, cli: Command, save: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second solver that contradicts the first: exit 7, one line, and the first result is kept.

    By hand: 1 + 3 GPUs cost 10 + 9 = 19, the optimum; ``hull``, where the second solver starts, ends with 2 + 1: 24.
    """
    jobs = [
        {"id": "a", "epochs": 1, "epoch_time_s": {"1": 10.0, "2": 4.0}},
        {"id": "b", "epochs": 1, "epoch_time_s": {"1": 20.0, "3": 9.0}},
    ]
    path = save({"format": "dlsched/ring_allocation/1", "name": "trap", "gpus": 4, "jobs": jobs})
    facts: dict[str, Any] = {"status": TerminationStatus.INFEASIBLE, "solver": "liar 1"}
    if lie != "infeasible":
        bound = 24.0 if lie == "proves too much" else 25.0
        values = {"x_a_2": 1.0, "x_b_1": 1.0}
        facts |= {"status": TerminationStatus.OPTIMAL, "values": values, "objective": bound, "bound": bound}
    monkeypatch.setattr("dlsched.solvers.milp.solve_milp", liar(**facts))
    out = tmp_path / "result.json"
    ended = cli("solve", path, "--cross-check", "cbc", "-o", out)
    assert ended.code == 7, ended
    assert "liar 1" in ended.line
    assert "disagree" in ended.line
    assert cli("check", path, out).out.startswith("feasible, objective 19.0 ")


@pytest.mark.parametrize("failure", ["status", "error", "infeasible", "impossible answer", "wrong bound"])
def test_1_or_7_when_a_solver_fails(failure: str, cli: Command, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that breaks down or its promises: what it said, no made-up answer, no traceback; exit 7 for a contradiction."""
    facts: dict[str, Any] = {"status": TerminationStatus.SOLVER_ERROR, "solver": "liar 1", "message": "it broke"}
    if failure == "infeasible":
        facts["status"] = TerminationStatus.INFEASIBLE
    if failure == "impossible answer":
        facts |= {"status": TerminationStatus.OPTIMAL, "values": {"x_a_4": 1.0, "x_b_5": 1.0}, "bound": 1.0}

    if failure == "wrong bound":  # above the allocation that is held
        facts |= {"status": TerminationStatus.TIME_LIMIT, "bound": 1e6}

    def broken(*arguments: Any, **named: Any) -> Outcome:
        raise SolverError("liar 1 broke")

    monkeypatch.setattr("dlsched.solvers.milp.solve_milp", broken if failure == "error" else liar(**facts))
    ended = cli("solve", example, "--method", "milp", "--time-limit", "60", "--json")
    contradiction = failure in ("infeasible", "wrong bound")
    assert (ended.code, ended.err) == (7 if contradiction else 1, "")
    assert ended.json["status"] == "solver_error"
    assert ended.json["message"].startswith("contradiction") is contradiction
    assert ended.json["objective"] is None or ended.json["objective"] >= 927118.96 * (1 - 1e-9)


def test_7_for_a_contradiction_in_every_command(
    cli: Command, example: Path, two_jobs: dict[str, Any], save: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``compare`` prints its rows first, also where a file's known optimum is beaten; ``bound`` what it holds."""
    known = {"optimum": 1e6, "proof": "wrong: 927118.96 is the optimum"}
    compared = cli("compare", save(two_jobs | {"known": known}), "--methods", "doubling", "--json")
    assert (compared.code, len(compared.json)) == (0, 1), "1144391.6 beats nothing"
    compared = cli("compare", save(two_jobs | {"known": known}), "--methods", "doubling,exact", "--json")
    assert (compared.code, len(compared.json)) == (7, 2)
    assert "the file calls 1000000.0 known, but a solution of 927118.96" in compared.line
    monkeypatch.setattr(
        "dlsched.solvers.milp.solve_milp",
        liar(status=TerminationStatus.TIME_LIMIT, solver="liar 1", bound=1e6),
    )
    compared = cli("compare", example, "--methods", "doubling,milp", "--time-limit", "60", "--json")
    assert (compared.code, [row["status"].split(":")[0] for row in compared.json]) == (
        7,
        ["feasible", "solver_error", "feasible"],
    )
    contradiction = dlsched.solve(dlsched.read(example), method="milp")
    monkeypatch.setattr("dlsched.core.family.Family.solve", lambda family, instance, **named: contradiction)
    assert cli("bound", example, "--json").code == 7


def test_1_when_a_solver_that_is_here_fails_the_doctor(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """``doctor`` tells a wrong answer from the right one."""
    outcome = liar(status=TerminationStatus.OPTIMAL, solver="liar 1", values={}, objective=13.0, bound=13.0)
    monkeypatch.setattr("dlsched.solvers.milp.solve_milp", outcome)
    monkeypatch.setattr("dlsched.solvers.minlp.solve_minlp", outcome)
    ended = cli("doctor", "--json")
    assert ended.code == 1
    assert not any(row["works"] for row in ended.json)


def test_130_when_interrupted_before_anything_is_held(
    cli: Command, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a file is read ends without a word."""

    def interrupt(path: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dlsched.cli.solve.read", interrupt)
    ended = cli("solve", example)
    assert (ended.code, ended.out, ended.err) == (130, "", "")


@pytest.mark.parametrize(
    ("line", "buffered"),
    [
        ("generate ring_allocation", False),
        ("generate ring_allocation --jobs 300", True),
        ("generate ring_allocation --jobs 300", False),
        ("methods", True),
        ("--help", False),
    ],
)
def test_a_pipe_that_is_closed_ends_quietly(line: str, buffered: bool) -> None:
    """Nobody reads: no word on standard error, and no exit code that means something else."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    if not buffered:
        environment["PYTHONUNBUFFERED"] = "1"
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *line.split()], stdout=writing, stderr=subprocess.PIPE, env=environment, timeout=60
    )
    os.close(writing)
    assert (ended.stderr, ended.returncode) == (b"", 0)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which ``dlsched`` is the program."""
    line = line.replace("dlsched", " ".join(PROGRAM), 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, env=os.environ | environment)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("dlsched solve - <&-", 3, "", "dlsched: standard input: cannot be read: it is closed\n"),
        ("dlsched solve nosuch.json 2>&-", 3, "", ""),
        ("dlsched --nosuch 2>&-", 2, "", ""),
        (
            "dlsched solve nosuch.json <&- >&-",
            3,
            "",
            "dlsched: nosuch.json: cannot be read: No such file or directory\n",
        ),
        ("dlsched --version 2>&-", 0, f"dlsched {dlsched.__version__}\n", ""),
    ],
)
def test_standard_files_that_are_closed(line: str, code: int, out: str, err: str) -> None:
    """Each counts as empty: nothing of one appears on another, and no exit code is another."""
    ended = shell(line)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, out, err)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_warnings_as_errors_are_for_the_users_programs(example: Path) -> None:
    """``PYTHONWARNINGS=error`` changes nothing, though PuLP warns of its next version."""
    ended = shell(f"dlsched solve {example} --method milp --solver cbc", PYTHONWARNINGS="error")
    assert (ended.returncode, ended.stderr) == (0, "")
