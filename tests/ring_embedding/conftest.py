"""Solvers called in the process of the tests."""

import pytest

from dlsched.ring_embedding import exact
from dlsched.ring_embedding.max_min import methods
from dlsched.ring_embedding.slot import exact_slot, slot_program
from dlsched.solvers import milp
from dlsched.solvers.milp import solve_milp


@pytest.fixture
def in_process(monkeypatch):
    """No child processes: they cost a second each."""
    here = lambda *arguments, **options: solve_milp(*arguments, **(options | {"isolated": False}))  # noqa: E731
    for module in (slot_program, exact_slot, exact, methods, milp):
        monkeypatch.setattr(module, "solve_milp", here)
