"""The linear relaxation where SoPlex has nothing to solve, or fails."""

import math

import pytest

from dlsched.proofs.prover.relaxation import Relaxation
from proofs.prover.small_models import INF, Row, model_of, searched


class Failing:
    """A linear program whose solution fails once, as pyscipopt does."""

    def __init__(self, program: object) -> None:
        self._program, self.failed = program, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._program, name)

    def solve(self) -> float:
        """Fail the first time."""
        if not self.failed:
            self.failed = True
            raise Exception("SCIP: error in LP solver!")
        return self._program.solve()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(("rows", "infeasible"), [([], False), ([(0.0, {}, 1.0)], False), ([(1.0, {}, INF)], True)])
def test_a_model_without_variables_is_proven(rows: list[Row], infeasible: bool) -> None:
    """Its objective is 0, or 0 breaks a row."""
    search, finding = searched(model_of([], [], rows))
    assert search.closed
    assert finding.infeasible == infeasible
    assert search.upper == (None if infeasible else 0)


def test_a_failed_solution_is_no_answer() -> None:
    """The next one begins anew and is right: the least of x + y where x + 2 y >= 3, at y = 1.5."""
    relaxation = Relaxation(
        model_of([1.0, 1.0], [(0.0, 4.0, False), (-INF, 4.0, False)], [(3.0, {0: 1.0, 1: 2.0}, INF)])
    )
    relaxation._program = Failing(relaxation._program)
    assert relaxation.solve() is None
    answer = relaxation.solve()
    assert answer is not None
    assert math.ldexp(answer.objective, relaxation.power) == pytest.approx(1.5)
