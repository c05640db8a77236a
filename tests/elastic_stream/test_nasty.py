"""Nasty streams through every method: results that pass their check, and with ticks the optimum of brute force."""

import json

import numpy as np
import pytest
from nasty import hold

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import FAMILY, bound, infeasible, solve
from dlsched.results.reading import claim_from
from dlsched.results.verification import verify_claim
from dlsched.testing import brute_force_stream

from .nasty import nasty


def holds(seed, ticked, skip=()):
    """One stream; without ticks, where no optimum is known, the bound and the check of every result."""
    instance = nasty(np.random.default_rng(seed), ticked)
    if ticked:
        found = brute_force_stream(instance)
        return hold(instance, None if found is None else found[0], skip=skip)
    least = None if infeasible(instance) else bound(instance).value
    for name, method in FAMILY.methods.items():
        if name == "milp":
            continue
        result = solve(instance, method=name, limits=Limits(time_s=20.0))
        said = f"{name} {result.status} {result.objective!r} {least!r}: {json.dumps(instance.as_data())}"
        failures = verify_claim(
            FAMILY, instance, claim_from(json.loads(json.dumps(result.as_data())), "result")
        ).failures
        assert not failures, f"{failures}; {said}"
        assert result.status is not TerminationStatus.SOLVER_ERROR, said
        assert (result.status is TerminationStatus.INFEASIBLE) == (least is None), said
        if least is not None and method.kind != "bound" and result.objective is not None:
            assert result.objective >= least * (1 - 1e-9), said
    return None


@pytest.mark.parametrize("ticked", [True, False])
def test_nasty_streams(ticked):
    """A sample of the campaign; the program by HiGHS on a few."""
    for seed in range(20):
        holds(seed, ticked, () if seed < 3 else ("milp",))


@pytest.mark.long
@pytest.mark.parametrize("ticked", [True, False])
def test_2000_nasty_streams(ticked):
    """The campaign; the program on every twentieth."""
    for seed in range(2000):
        holds(1000 + seed, ticked, () if seed % 20 == 0 else ("milp",))
