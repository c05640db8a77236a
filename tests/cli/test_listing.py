"""``dlsched methods`` and ``doctor``: the methods of the families, and the installed solvers with one small solve each."""

from typing import Any

from dlsched.catalogue.ring_allocation import LISTED
from dlsched.catalogue.solvers import SOLVERS
from dlsched.families import FAMILIES


def test_every_method_is_described(cli: Any) -> None:
    """The contract's fields, and the catalogue's names by kind; here every solver is installed."""
    ended = cli("methods", "ring_allocation", "--json")
    assert (ended.code, ended.err) == (0, "")
    for entry in ended.json:
        assert set(entry) == {"family", "name", "kind", "available", "needs", "guarantee"}
        assert (entry["family"], entry["available"]) == ("ring_allocation", True)
        assert entry["guarantee"]
    found = [(entry["name"], entry["kind"]) for entry in ended.json]
    assert found == [(method.name, method.kind) for method in LISTED.methods]
    assert {("exact", "exact"), ("doubling", "heuristic"), ("lagrange", "bound")} <= set(found)
    needs = {entry["name"]: entry["needs"] for entry in ended.json}
    assert (needs["exact"], needs["doubling"], needs["minlp"]) == (None, None, "scip")
    assert set(needs["milp"].split(" or ")) == {"highs", "cbc", "scip", "cpsat", "gurobi"}


def test_all_families_are_the_default(cli: Any) -> None:
    """``exact`` exists in every one."""
    listed = cli("methods", "--json").json
    assert {entry["family"] for entry in listed} == set(FAMILIES)
    assert {entry["family"] for entry in listed if entry["name"] == "exact"} == set(FAMILIES)


def test_every_solver_solves_its_smoke_model(cli: Any) -> None:
    """With its version; SCIP solves a non-linear one too."""
    ended = cli("doctor", "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = {row["solver"]: row for row in ended.json}
    assert set(rows) == set(SOLVERS)
    for row in rows.values():
        assert row["available"], row
        assert row["works"], row
        assert row["version"], row
    assert "non-linear: 7, proven" in rows["scip"]["smoke"]


def test_the_table_names_them(cli: Any, monkeypatch: Any) -> None:
    """For people; what is not here is told with how to install it, and is no failure."""
    monkeypatch.setattr("dlsched.catalogue.solvers.Solver.available", property(lambda self: False))
    ended = cli("doctor")
    assert ended.code == 0
    assert "pip install pyscipopt" in ended.out and "pip install 'dlsched[gurobi]'" in ended.out
