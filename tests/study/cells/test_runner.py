"""The process of cells, run here: solved, verified, measured; what no rule allows is rejected."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import ring_allocation, study
from dlsched.core.errors import ProofError, SolverError, SolverKilledError, UsageError
from dlsched.core.family import Method
from dlsched.core.status import TerminationStatus
from dlsched.processes.usage import Usage
from dlsched.ring_allocation import FAMILY
from dlsched.study.cells import foreign_methods
from dlsched.study.cells.cell import BEGUN, MAKING, CellEnded, Outcome, key_of
from dlsched.study.cells.runner import Runner
from dlsched.study.plans.plan import PlannedMethod
from dlsched.study.recipes import read_recipe
from study.cells_at_hand import ROOMY, cell, function, named, recipe
from tests.study.forging import checked


def outcomes(*cells, folder: str = "/nonexistent") -> tuple[list[Outcome], list[Outcome]]:
    """What a runner says of cells: as they begin, and as they end."""
    begun: list[Outcome] = []
    runner = Runner(folder)
    return begun, [runner.run(each, begun.append) for each in cells]


def test_a_cell_says_what_solve_says():
    """Objective, bound, status, solution and certificate; and of each instance once what it is."""
    begun, ended = outcomes(*(cell(named(name), seed) for seed in (0, 1) for name in ("exact", "doubling", "lp")))
    instance = recipe(0).make()
    result = dlsched.solve(instance, method="exact")
    data = result.as_data()
    first = ended[0]
    assert (first.status, first.objective, first.bound) == ("optimal", result.objective, result.bound)
    assert (json.loads(first.solution), first.certificate) == (data["solution"], data["certificate"])
    assert [outcome.status for outcome in ended[:2]] == ["optimal", "feasible"]
    assert ended[2].solution is None
    assert ended[2].bound <= ended[0].objective
    assert [each.status for each in begun] == [MAKING, *[BEGUN] * 3] * 2
    facts = begun[0].facts
    assert facts is not None
    assert (facts.name, facts.sha256, facts.jobs, facts.gpus) == (instance.name, instance.sha256, 3, 8)
    assert all(outcome.time_s > 0 and outcome.memory_mib > 10 and outcome.cpu_s >= 0 for outcome in ended)


def test_processes_of_functions_leave_a_cell_its_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Each is said to hold 1 of 8 GiB, of which those that wait may have 2: the one asked least recently ends."""
    (tmp_path / "own.py").write_text(
        "".join(
            f"def {name}(instance):\n    return {{'gpus': {{job.id: 1 for job in instance.jobs}}}}\n" for name in "abcd"
        )
    )
    monkeypatch.setattr(foreign_methods, "resident", lambda pid, shared: 1 << 30)
    runner = Runner(str(tmp_path / "folder"))
    kept = []
    for name in "abacdd":
        ended = runner.run(
            cell(function(tmp_path / "own.py", name), limits=replace(ROOMY, memory_gib=8.0)), lambda begun: None
        )
        assert ended.status == "feasible", ended
        kept.append("".join(label for _, label in runner._foreign._callers))
    runner._foreign.stop()
    assert kept == ["a", "ab", "ba", "bac", "acd", "acd"]


def teach(monkeypatch: pytest.MonkeyPatch, run: Callable[..., TerminationStatus]) -> None:
    """Give the family a method with another kind of truth."""
    family = replace(FAMILY, methods={**FAMILY.methods, "lies": Method("lies", "exact", run)})
    monkeypatch.setattr("dlsched.families.listed.record_of", lambda name: family)


def test_methods_are_not_believed(monkeypatch: pytest.MonkeyPatch):
    """A certificate of something else, and a broken rule, are no answers."""
    best, other = (dlsched.solve(recipe(seed).make()) for seed in (0, 1))

    def proves_falsely(instance, search):
        search.offer(best.solution, source="lies")
        search.prove(best.objective, source="lies", certificate=other.certificate)
        return TerminationStatus.OPTIMAL

    def breaks(instance, search):
        search.offer(FAMILY.read_solution({"gpus": {job.id: 8 for job in instance.jobs}}, instance), source="lies")
        return TerminationStatus.FEASIBLE

    for run, status in ((proves_falsely, "rejected"), (breaks, "solver_error")):
        teach(monkeypatch, run)
        _, (outcome,) = outcomes(cell(named("lies")))
        assert (outcome.status, outcome.objective) == (status, None), outcome


def test_errors_are_rows():
    """Of an instance that cannot be made, and of a solver that a method cannot use."""
    bad = read_recipe("ring_allocation", "generate", "mixed", 0, {"generate": {"jobs": -1, "gpus": 8, "seed": 0}})
    wrong = replace(named("milp"), solver="nosuch")
    _, (first, second, third) = outcomes(replace(cell(named("exact")), recipe=bad), cell(wrong), cell(named("equal")))
    assert first.status == "error"
    assert "jobs" in first.message
    assert second.status == "error"
    assert "found 'nosuch', allowed: highs, cbc, scip, cpsat" in second.message
    assert third.status == "feasible"


@pytest.mark.parametrize(("error", "status"), [(SolverKilledError, "killed"), (SolverError, "solver_error")])
def test_a_solver_that_was_killed(error: type[SolverError], status: str, monkeypatch: pytest.MonkeyPatch):
    """Its cell is killed; an error of its own is an error of the solver."""

    def dies(instance, search):
        raise error("the solver process ended")

    teach(monkeypatch, dies)
    _, (outcome,) = outcomes(cell(named("lies")))
    assert outcome.status == status


def test_a_function_that_is_not_needed(tmp_path: Path):
    """Of an instance that has no solution: its row has its own seconds, and not those of the function's last call."""
    (tmp_path / "own.py").write_text(
        "import time\ndef slow(instance):\n    time.sleep(0.4)\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
    )
    hopeless = read_recipe(
        "ring_allocation", "a.json", "", None, {"instance": ring_allocation.example().as_data() | {"gpus": 1}}
    )
    slow = cell(function(tmp_path / "own.py", "slow"))
    runner = Runner(str(tmp_path / "temporary"))
    try:
        first, second = (runner.run(each, lambda begun: None) for each in (slow, replace(slow, recipe=hopeless)))
    finally:
        runner._foreign.stop()
    assert (first.status, second.status) == ("feasible", "infeasible"), (first, second)
    assert first.time_s >= 0.4
    assert 0 < second.time_s < 0.2


def test_a_function_whose_process_cannot_be_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is known of what it took."""
    runner = Runner(str(tmp_path))
    runner._foreign.usage = Usage(9.0, 9.0, 9.0)

    def prepare(each):
        raise CellEnded("error", "no more")

    monkeypatch.setattr(runner._foreign, "prepare", prepare)
    outcome = runner.run(cell(function(tmp_path / "own.py", "f")), lambda begun: None)
    assert (outcome.message, outcome.time_s, outcome.cpu_s, outcome.memory_mib) == ("no more", None, None, None)


PLAN = """
format = "dlsched/study/1"
name = "proofs"
instances = [{family = "ring_allocation", jobs = 3, gpus = 8, seeds = "0:2"}]
methods = [{name = "exact", proof = true}, {name = "doubling", proof = true}, {name = "doubling", label = "plain", proof = false}]
"""


def proving(name: str) -> PlannedMethod:
    """A method whose answers are to be proven."""
    return replace(named(name), parameters={"proof": True})


def ended(method: PlannedMethod, folder: Path) -> Outcome:
    """What comes of its cell."""
    return Runner(str(folder)).run(cell(method), lambda begun: None)


def test_rows_say_whether_their_proof_was_verified(cli: Callable[..., Any], tmp_path: Path, monkeypatch: Any) -> None:
    """An optimum is; a heuristic's answer, where it is not optimal, is said to be above the bound. Checked anew, all is true."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    assert cli("study", "run", "plan.toml", "-s", "store.sqlite", "--workers", "1").code == 0
    with study.open("store.sqlite") as opened:
        rows = {(row.seed, row.method): row for row in opened.rows()}
    assert len(rows) == 6
    for (seed, method), row in rows.items():
        optimal = row.objective == pytest.approx(rows[seed, "exact"].objective, rel=1e-9)
        if method == "plain":
            assert "verified" not in row.figures and not row.message
        else:
            assert row.figures["verified"] == optimal
            assert row.message.startswith("verified: optimal, " if optimal else "verified: bound ")
    assert not all(row.figures.get("verified", 1) for row in rows.values()), "doubling is not always optimal"
    for again in (False, True):
        found = checked(Path("store.sqlite"), again=again)
        assert all(found.values())
        claims = {key: [claim for claim in each.claimed if "proof" in claim] for key, each in found.items()}
        for (_, method), said in claims.items():
            assert len(said) == (method != "plain")


def test_the_answer_is_that_without_a_proof(tmp_path: Path) -> None:
    """But for the figure and the message; no file stays."""
    plain, proven = ended(named("exact"), tmp_path), ended(proving("exact"), tmp_path)
    for name in ("status", "objective", "bound", "solution", "certificate", "bound_source", "solver"):
        assert getattr(plain, name) == getattr(proven, name)
    assert proven.figures == {**plain.figures, "verified": 1.0}
    assert list(tmp_path.iterdir()) == []


def test_keys_are_of_what_is_asked() -> None:
    """A proof makes another cell; without one a key is what it was before there were proofs."""
    methods = named("exact"), proving("exact")
    plain, proven = (key_of(recipe(), method, 0, ROOMY, {"dlsched": "0"}) for method in methods)
    assert plain == "2a50904bb9299fb8ed0cabea39e631ffbcda5c7ac1a47f748d577600da819bab" and proven != plain


def test_what_cannot_be_proven_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No linear model, no memory: the answer stays. A proof that contradicts it: the answer goes."""

    def broken(error: BaseException) -> Outcome:
        def proof(*arguments: Any, **named: Any) -> None:
            raise error

        monkeypatch.setattr("dlsched.proofs.proof.prove", proof)
        return ended(proving("exact"), tmp_path)

    for error, said in ((UsageError("there is no model"), "there is no model"), (MemoryError(), "out of memory")):
        outcome = broken(error)
        assert (outcome.status, outcome.message, outcome.figures["verified"]) == ("optimal", f"no proof: {said}", 0)
    monkeypatch.undo()

    def false(*arguments: Any) -> None:
        raise ProofError("line 3 does not follow")

    monkeypatch.setattr("dlsched.proofs.verification.check_proof", false)
    outcome = ended(proving("exact"), tmp_path)
    assert (outcome.status, outcome.message, outcome.objective) == ("rejected", "line 3 does not follow", None)
