"""Methods of a plan that ask for proofs: what their rows say, and that all other cells are what they were."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsched import study
from dlsched.core.errors import ProofError, UsageError
from dlsched.study.cells.cell import key_of
from dlsched.study.cells.outcome import Outcome
from dlsched.study.cells.runner import Runner
from dlsched.study.plans.plan import PlannedMethod
from study.cells_at_hand import ROOMY, cell, named, recipe
from tests.study.judging import checked

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


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('name = "exact"\nproof = 1', ".proof: found 1, allowed: true or false"),
        ('kind = "exact"\nproof = true', ".proof: found an unknown key, allowed: only kind, family"),
    ],
)
def test_plans_that_ask_wrongly(entry: str, said: str, cli: Callable[..., Any], tmp_path: Path) -> None:
    """Named methods may ask for proofs, by true."""
    path = tmp_path / "plan.toml"
    path.write_text(f'format = "dlsched/study/1"\ninstances = [{{family = "ring_allocation"}}]\n[[methods]]\n{entry}\n')
    ended = cli("study", "plan", path)
    assert ended.code == 3 and said in ended.err
