"""``dlsched doctor``: every solver that is here solves a small model."""

from typing import Any

from dlsched.catalogue.solvers import SOLVERS


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
    monkeypatch.setattr("dlsched.solvers.availability.Solver.available", property(lambda self: False))
    ended = cli("doctor")
    assert ended.code == 0
    assert "pip install pyscipopt" in ended.out and "pip install 'dlsched[gurobi]'" in ended.out
