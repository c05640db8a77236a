"""``dlsched check --proof``: what a proof says of a result, and the exit code."""

import json
from pathlib import Path
from typing import Any

import pytest
from proofs.by_hand import BEST, BOUND, DATA, WORSE, written

OPTIMUM, OTHER = {"a": 1, "b": 2}, {"a": 2, "b": 1}
INFEASIBLE = "no G 1 0 { lin 0 } -1"


@pytest.fixture
def check(cli: Any, save: Any, tmp_path: Path) -> Any:
    """Check an allocation with the text of a proof."""

    def call(gpus: dict[str, int], text: str, *options: str) -> Any:
        path = tmp_path / "proof.vipr"
        path.write_text(text, encoding="utf-8")
        files = save(DATA, "instance.json"), save({"solution": {"gpus": gpus}}, "result.json")
        return cli("check", *files, "--proof", path, *options)

    return call


SAID = {
    "optimal": (OPTIMUM, written(), 0, "verified: optimal, 1 case, exact arithmetic"),
    "above": (OTHER, written(), 0, "verified: bound 6.0, the result is 17 % above it (1 case, exact arithmetic)"),
    "open": (
        OPTIMUM,
        written("range 5 6"),
        0,
        "verified: bound 5.0, the result is 20 % above it (1 case, exact arithmetic); the proof's range is open",
    ),
    "without a solution of its own": (
        OPTIMUM,
        written("range 6 inf", ()),
        0,
        "verified: optimal, 1 case, exact arithmetic",
    ),
    "with a worse one": (OPTIMUM, written("range 6 7", (WORSE,)), 0, "verified: optimal, 1 case, exact arithmetic"),
    "no bound": (
        OPTIMUM,
        written("range -inf 6", (BEST,), ()),
        0,
        "verified: no bound, the proof's range is open (1 case, exact arithmetic)",
    ),
    "a lie": (
        OPTIMUM,
        written("range 7 inf", (), (BOUND.replace("6 OBJ", "7 OBJ"),)),
        7,
        "does not follow from its sum",
    ),
    "a lie on infeasibility": (OPTIMUM, written("infeas", (), (INFEASIBLE,)), 7, "does not follow from its sum"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str, check: Any) -> None:
    """After what the checker of the family says."""
    gpus, text, code, said = SAID[name]
    ended = check(gpus, text)
    assert (ended.code, ended.err) == (code, "")
    feasible, last = ended.out.splitlines()
    assert feasible.startswith("feasible, objective ")
    assert last == said if code == 0 else (last.startswith("FAILED  ") and last.endswith(said))


def test_the_result_is_checked_as_without(check: Any) -> None:
    """An allocation of too many GPUs is no optimum."""
    ended = check({"a": 2, "b": 2}, written())
    assert ended.code == 7 and "FAILED  capacity: " in ended.out and "optimal" not in ended.out


@pytest.mark.parametrize("text", ["", "VER 1.0\n", written().replace("DER 1", "DER 01")])
def test_no_proof_file_is_3(check: Any, text: str) -> None:
    """One line on standard error."""
    ended = check(OPTIMUM, text)
    assert (ended.code, ended.out) == (3, "") and "proof.vipr" in ended.line


def test_json(check: Any) -> None:
    """The fields of before, and ``proof``: null where it states what is not so."""
    data = json.loads(check(OPTIMUM, written(), "--json").out)
    assert data["verified"][-1] == "verified: optimal, 1 case, exact arithmetic"
    assert data["proof"] == {
        "formulation": "milp",
        "infeasible": False,
        "cases": 1,
        "closed": True,
        "optimal": True,
        "lower": 6.0,
        "upper": 6.0,
    }
    false = check(OPTIMUM, written("range 7 inf", ()), "--json")
    assert false.code == 7 and false.json["proof"] is None and len(false.json["failures"]) == 1


def test_without_a_proof_nothing_is_new(cli: Any, save: Any) -> None:
    """The fields of ``--json`` are those of before."""
    files = save(DATA, "instance.json"), save({"solution": {"gpus": OPTIMUM}}, "result.json")
    assert "proof" not in cli("check", *files, "--json").json
