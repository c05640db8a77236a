"""``dlsched prove`` and ``dlsched solve --proof``: what is printed, what is written, how they end."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.core.status import TerminationStatus
from dlsched.proofs.checker import Verified, check_proof
from dlsched.proofs.prover.search import TreeSearch
from dlsched.solvers.outcome import Outcome

Command = Callable[..., Any]
INSTANCES = Path(__file__).parents[2] / "instances"
OPTIMUM = 927118.96  # of the example, by hand
MANY = INSTANCES / "elastic_stream" / "worst-weighted.json"  # takes some cases
HELD = pytest.approx(100.42904290429, rel=1e-9)  # its optimum
FIELDS = "family instance formulation status sense objective bound gap cases runtime_s proof bytes check message"


def trap(gpus: int, **fields: Any) -> dict[str, Any]:
    """An instance whose relaxation is below its optimum: 2 + 1 GPUs cost 24, 1 + 3 cost 19."""
    jobs = [
        {"id": "a", "epochs": 1, "epoch_time_s": {"1": 10.0, "2": 4.0}},
        {"id": "b", "epochs": 1, "epoch_time_s": {"1": 20.0, "3": 9.0}},
    ]
    return {"format": "dlsched/ring_allocation/1", "name": "trap", "gpus": gpus, "jobs": jobs, **fields}


def bare(tmp_path: Path, **gpus: int) -> Path:
    """A result file with nothing but a solution."""
    path = tmp_path / "start.json"
    path.write_text(json.dumps({"solution": {"gpus": gpus}}))
    return path


def checked(proof: Path, instance: Path) -> Verified:
    """What the checker, which shares nothing with the prover, finds in a file."""
    return check_proof(proof, dlsched.read(instance))


def test_the_optimum_is_proven(cli: Command, example: Path, tmp_path: Path) -> None:
    """People read what is proven and how to check it; the checker accepts the file."""
    proof = tmp_path / "a proof.vipr"
    ended = cli("prove", example, "-o", proof)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("two-jobs: optimal (proof by milp)\n  objective    927,118.96 ")
    assert f"'{proof}': " not in ended.out and f"{proof}: 1 case, {proof.stat().st_size:,} bytes" in ended.out
    assert f"check        dlsched check {example} --proof '{proof}'\n" in ended.out
    assert ended.out.endswith(f"viprchk '{proof}'\n")
    assert checked(proof, example).closed
    found = cli("check", example, "--proof", proof)
    assert found.code == 0
    proven = dlsched.solve(dlsched.read(example)).objective
    assert found.out.splitlines() == [
        f"feasible, objective {proven} weighted seconds, summed over jobs, of the proof's own solution",
        "verified: optimal, 1 case, exact arithmetic",
    ]
    assert cli("check", example, "--proof", proof, "--json").json["proof"]["optimal"] is True


def test_the_json_has_its_fields_and_packed_files_are_unpacked_first(
    cli: Command, example: Path, tmp_path: Path
) -> None:
    """Nothing else on either stream."""
    proof, plain = tmp_path / "proof.vipr.gz", tmp_path / "plain.vipr"
    ended = cli("prove", example, "-o", proof, "--json")
    assert (ended.code, ended.err, list(ended.json)) == (0, "", FIELDS.split())
    assert (ended.json["status"], ended.json["formulation"], ended.json["cases"]) == ("optimal", "milp", 1)
    assert ended.json["objective"] == pytest.approx(OPTIMUM, rel=1e-12)
    assert 0 <= ended.json["objective"] - ended.json["bound"] <= 1e-9 * OPTIMUM
    assert ended.json["bytes"] == proof.stat().st_size
    assert ended.json["check"][1] == f"gunzip -k {proof} && viprchk {tmp_path / 'proof.vipr'}"
    assert cli("prove", example, "-o", plain).code == 0
    assert gzip.decompress(proof.read_bytes()) == plain.read_bytes()
    assert cli("prove", example, "-o", "-").out == plain.read_text()


def test_a_start_is_taken_up(cli: Command, save: Command, tmp_path: Path) -> None:
    """A result or a bare solution; the check is of it. What is no solution, or of another instance, is refused."""
    instance, proof, result = save(trap(4)), tmp_path / "proof.vipr", tmp_path / "result.json"
    assert cli("solve", instance, "--method", "hull", "-o", result).code == 0
    for start in (result, bare(tmp_path, a=1, b=3)):
        ended = cli("prove", instance, "--start", start, "-o", proof, "--json")
        assert (ended.code, ended.json["objective"]) == (0, 19.0)
        assert ended.json["check"][0] == f"dlsched check {instance} {start} --proof {proof}"
    proof.unlink()
    ended = cli("prove", instance, "--start", bare(tmp_path, a=2, b=3), "-o", proof)
    assert (ended.code, proof.exists()) == (2, False)
    assert ended.line.startswith("dlsched: --start: found a solution that breaks ")
    ended = cli("prove", save(trap(5), "other.json"), "--start", result, "-o", proof)
    assert (ended.code, proof.exists()) == (3, False)
    assert "instance.sha256" in ended.line
    assert cli("solve", save(trap(1)), "-o", result).code == 4
    ended = cli("prove", save(trap(1)), "--start", result, "-o", proof)
    assert (ended.code, ended.line) == (3, f"dlsched: {result}: solution: found null, allowed: a solution")


def test_4_where_there_is_no_solution(cli: Command, save: Command, tmp_path: Path) -> None:
    """One GPU for two jobs."""
    proof = tmp_path / "proof.vipr"
    ended = cli("prove", save(trap(1)), "-o", proof, "--json")
    assert (ended.code, ended.json["status"], ended.json["objective"]) == (4, "infeasible", None)
    assert "RTP infeas" in proof.read_text() and checked(proof, tmp_path / "instance.json").infeasible
    assert cli("check", tmp_path / "instance.json", "--proof", proof).out.startswith("verified: infeasible, 1 case")
    proof.write_text(proof.read_text().replace(" lin ", " asm ", 1))
    assert cli("check", tmp_path / "instance.json", "--proof", proof).code in (3, 7)


def test_5_where_nothing_is_held(cli: Command, example: Path, tmp_path: Path) -> None:
    """A limit of nothing leaves a valid proof of next to nothing: no cost is below 0."""
    for option, status in (("--time-limit", "time_limit"), ("--node-limit", "node_limit")):
        proof = tmp_path / "proof.vipr"
        ended = cli("prove", example, option, "0", "-o", proof, "--json")
        assert (ended.code, ended.json["status"], ended.json["bound"]) == (5, status, 0.0)
        found = checked(proof, example)
        assert (found.lower, found.upper) == (0, None)


def test_a_limit_leaves_a_range(cli: Command, tmp_path: Path) -> None:
    """Exit 0 with a solution; what is proven so far stands in the file."""
    proof = tmp_path / "proof.vipr"
    ended = cli("prove", MANY, "--node-limit", "1", "-o", proof, "--json")
    assert (ended.code, ended.json["status"], ended.json["objective"]) == (0, "node_limit", HELD)
    assert ended.json["bound"] < 100.42
    found = checked(proof, MANY)
    assert not found.closed and found.upper == HELD
    said = cli("prove", MANY, "--node-limit", "1", "-o", proof).out
    assert said.startswith("worst-weighted: node_limit (proof by milp)\n")


def test_ctrl_c_leaves_a_range(cli: Command, tmp_path: Path, monkeypatch: Any) -> None:
    """Like a limit."""
    solve, proof = TreeSearch._solve, tmp_path / "proof.vipr"

    def press(search: TreeSearch, case: Any) -> Any:
        if search.nodes == 1:
            raise KeyboardInterrupt
        return solve(search, case)

    monkeypatch.setattr(TreeSearch, "_solve", press)
    ended = cli("prove", MANY, "-o", proof, "--json")
    assert (ended.code, ended.json["status"], ended.json["objective"]) == (0, "interrupted", HELD)
    found = checked(proof, MANY)
    assert not found.closed and found.upper == HELD


def test_a_gap_that_is_enough(cli: Command, tmp_path: Path) -> None:
    """Half of the objective is proven at once, and the status does not say optimal."""
    ended = cli("prove", MANY, "--gap", "0.5", "-o", tmp_path / "proof.vipr", "--json")
    assert (ended.code, ended.json["status"]) == (0, "feasible")
    assert 0 < ended.json["gap"] <= 0.5


@pytest.mark.parametrize("line", ["prove FILE -o OUT", "solve FILE --proof OUT"])
def test_2_without_a_linear_model(line: str, cli: Command, tmp_path: Path) -> None:
    """Decisions at any time have no slots: said before anything is solved."""
    words = {"FILE": INSTANCES / "elastic_stream" / "bursts-100x64-seed2.json", "OUT": tmp_path / "proof.vipr"}
    ended = cli(*(words.get(word, word) for word in line.split()))
    assert (ended.code, ended.out, list(tmp_path.iterdir())) == (2, "", [])
    assert ended.line.endswith(
        "tick_s: found null, allowed: a number of seconds, since decisions at any time have no slots"
    )


@pytest.mark.parametrize("line", ["prove FILE -o OUT", "solve FILE --method doubling --proof OUT"])
def test_7_where_the_file_calls_something_else_known(line: str, cli: Command, save: Command, tmp_path: Path) -> None:
    """The proof is written, and the contradiction said."""
    instance = save(trap(4, known={"optimum": 20.0, "proof": "wrong: it is 19"}))
    words = {"FILE": instance, "OUT": tmp_path / "proof.vipr"}
    ended = cli(*(words.get(word, word) for word in line.split()))
    assert ended.code == 7
    assert ended.line == "dlsched: trap: the file calls 20.0 known, but a solution of 19.0 is held"


def test_solve_proves_its_answer(cli: Command, save: Command, tmp_path: Path) -> None:
    """The result is that of ``solve`` alone, but for a sentence in its message; also of a heuristic that is not optimal."""
    instance, proof = save(trap(4)), tmp_path / "proof.vipr"
    for method, said in (("exact", "proves the optimum 19 in "), ("hull", "proves the optimum 19 in ")):
        alone = cli("solve", instance, "--method", method, "--json").json
        ended = cli("solve", instance, "--method", method, "--proof", proof, "--json")
        assert (ended.code, ended.err) == (0, "")
        assert f"{proof}: {said}" in ended.json["message"]
        differ = {key for key in alone if alone[key] != ended.json[key]}
        assert differ <= {"message", "runtime_s"}
        assert checked(proof, instance).closed
    assert f"  note         {proof}: proves the optimum 19 in " in cli("solve", instance, "--proof", proof).out
    ended = cli("solve", save(trap(1)), "--proof", proof)
    assert ended.code == 4 and f"{proof}: proves that there is no solution" in ended.out
    ended = cli("solve", MANY, "--proof", proof, "--node-limit", "0")
    assert ended.code == 0 and f"{proof}: proves the bound 0 in 1 case" in ended.out


def test_solve_ends_with_7_where_the_proof_contradicts_it(
    cli: Command, save: Command, tmp_path: Path, monkeypatch: Any
) -> None:
    """A solver that calls 24 the optimum: the proof holds 19."""
    values = {"x_a_2": 1.0, "x_b_1": 1.0}
    facts = {
        "status": TerminationStatus.OPTIMAL,
        "values": values,
        "objective": 24.0,
        "bound": 24.0,
        "solver": "liar 1",
    }
    monkeypatch.setattr("dlsched.solvers.milp.solve_milp", lambda *arguments, **named: Outcome(**facts))
    ended = cli("solve", save(trap(4)), "--method", "milp", "--proof", tmp_path / "proof.vipr", "--json")
    assert ended.code == 7
    assert ended.line == "dlsched: liar 1 and the proof disagree: bound 24.0 against a solution of 19.0"


def test_solve_that_is_interrupted_begins_no_proof(
    cli: Command, example: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """Ctrl-C means the end."""
    held = dlsched.solve(dlsched.read(example), limits=dlsched.Limits(nodes=0))
    result = replace(held, status=TerminationStatus.INTERRUPTED)
    monkeypatch.setattr("dlsched.cli.solve.solve", lambda *arguments, **named: result)
    proof = tmp_path / "proof.vipr"
    ended = cli("solve", example, "--proof", proof)
    assert (ended.code, proof.exists()) == (0, False)
    assert f"{proof}: no proof was begun" in ended.out
