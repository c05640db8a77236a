"""Gurobi beside its contract: what its licence does not allow, errors of listeners, and models of which presolve says little."""

import math

import pytest
from solver_contract.models import linear_model, packing

from dlsched import Limits, TerminationStatus, ring_allocation, solve
from dlsched.core.errors import SolverError
from dlsched.core.status import Sense
from dlsched.solvers import gurobi
from dlsched.solvers.milp import solve_milp

LICENSED = 2000
"""Variables, and rows, that the licence of the wheel allows."""


def wide(variables):
    """Choose the cheapest of some."""
    return linear_model(Sense.MINIMIZE, range(1, variables + 1), [(1, [1] * variables, math.inf)])


@pytest.mark.parametrize("isolated", [True, False])
def test_a_model_beyond_the_licence_is_an_error_that_says_so(isolated):
    """The largest that the licence of the wheel allows is solved, one variable more is not."""
    outcome = solve_milp(wide(LICENSED), solver="gurobi", isolated=isolated)
    assert (outcome.status, outcome.objective) == (TerminationStatus.OPTIMAL, 1.0)
    said = r"Gurobi 13\.\S+: the model has 2,001 variables and 1 rows, more than its licence allows \(2,000 of each, by"
    with pytest.raises(SolverError, match=rf"^{said}"):
        solve_milp(wide(LICENSED + 1), solver="gurobi", isolated=isolated)


def test_a_result_beyond_the_licence_is_a_solver_error(cli, tmp_path):
    """With the words of the licence, what was held before, exit 1 and no traceback; no other solver takes its place."""
    instance = ring_allocation.generate(jobs=300, gpus=2000, seed=0)
    result = solve(instance, method="milp", solver="gurobi")
    assert result.status is TerminationStatus.SOLVER_ERROR
    assert "more than its licence allows" in result.message and "Traceback" not in result.message
    assert (result.solver, result.bound) == (None, None) and result.solution is not None
    file = tmp_path / "instance.json"
    cli("generate", "ring_allocation", "--jobs", 300, "--gpus", 2000, "-o", file)
    ended = cli("solve", file, "--method", "milp", "--solver", "gurobi")
    assert ended.code == 1 and "more than its licence allows" in ended.out


def test_an_error_of_a_listener_passes():
    """In this process too, where gurobipy would print and go on."""

    class DeafError(Exception):
        """Of the listener's own."""

    def refuse(told):
        raise DeafError

    for listener in ("found", "bounded"):
        with pytest.raises(DeafError):
            solve_milp(packing(40, seed=3), solver="gurobi", isolated=False, **{listener: refuse})


def test_infeasible_and_unbounded_are_told_apart():
    """Presolve says of both that it is one of them: x >= 1 and x <= 0 with y free, and y free alone."""
    for rows, status in (([(1, [1, 0], math.inf), (-math.inf, [1, 0], 0)], "infeasible"), ([], "unbounded")):
        model = linear_model(
            Sense.MAXIMIZE, [0, 1], [*rows, (-math.inf, [1, -1], 3)], lower=-math.inf, upper=math.inf, integer=False
        )
        assert str(solve_milp(model, solver="gurobi", isolated=False).status) == status


def test_nothing_is_printed_and_no_log_is_written(capfd, tmp_path, monkeypatch):
    """Neither a banner nor a file."""
    monkeypatch.chdir(tmp_path)
    gurobi.solve(packing(12), Limits(nodes=5, threads=2), found=lambda told: None)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
