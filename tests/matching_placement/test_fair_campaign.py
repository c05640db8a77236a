"""The agreement campaign of the objectives beside the mean: brute force, and every route and bound of each."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dlsched
from dlsched.certificates import DualsCertificate
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement import FAMILY, check
from dlsched.matching_placement.certificate import verify
from dlsched.testing import brute_force_placement
from dlsched.testing.matching_placement import FAIR

from .nasty import nasty
from .test_campaign import CLOSE, SOLVERS, draw

HEURISTICS = [name for name, method in FAMILY.methods.items() if method.kind == "heuristic"]
EXACT = [("exact", None), ("dp", None), ("columns", None), ("milp", "highs")]
IN_TURN = [("milp", "cpsat"), ("milp", "cbc"), ("milp", "scip")]


def agree(seed, aim, seen):
    """Assert that all routes agree on one instance, that bounds hold and are proven, and that forged ones are refused."""
    instance = draw(seed).model_copy(update=aim)
    best = brute_force_placement(instance)
    seen["instances"] += 1
    routes = [*EXACT, IN_TURN[seed % 3]] + [("assignment", "highs")] * (aim["objective"] == "max_rho" and seed % 5 == 1)
    if best is None:
        assert dlsched.solve(instance).status is TerminationStatus.INFEASIBLE
        seen["infeasible"] += 1
        return
    sense, constant = FAMILY.sense_for(instance), FAMILY.constant(instance)
    room = abs(best[0] - constant)
    for name, solver in routes:
        result = dlsched.solve(instance, method=name, solver=solver)
        assert (result.status, result.sense) == (TerminationStatus.OPTIMAL, sense), (seed, aim, name, solver)
        close = CLOSE if solver is None else SOLVERS
        assert abs(result.objective - best[0]) <= close * room, (seed, aim, name, solver)
        seen[name] += 1
    for name in HEURISTICS:
        result = dlsched.solve(instance, method=name)
        if result.solution is not None:
            assert not check(instance, result.solution)
            assert not sense.better(result.objective, best[0]) or abs(result.objective - best[0]) <= CLOSE * room
            seen["answers of heuristics"] += 1
    certificate = dlsched.solve(instance, method="configuration-lp").certificate
    proven, sign = verify(instance, certificate), 1 if sense is Sense.MINIMIZE else -1
    assert sign * (proven - Fraction(certificate.value)) >= 0, (seed, aim)
    assert sign * (best[0] - float(proven)) >= -CLOSE * room, (seed, aim)
    assert not claims(instance, certificate, best[0] + sign * 1e-6 * room, sign), (seed, aim)
    seen["certificates"] += 1


def claims(instance, certificate, value, sign):
    """Whether the prices prove ``value``, which no prices can."""
    forged = DualsCertificate(certificate.formulation, certificate.rows, value)
    try:
        return sign * (verify(instance, forged) - Fraction(value)) >= 0
    except ValueError:
        return False


def test_a_sample_of_the_campaign():
    """Of each objective two instances."""
    seen = Counter()
    for seed in range(2 * len(FAIR)):
        agree(seed, FAIR[seed % len(FAIR)], seen)
    assert seen["certificates"] >= 6


@pytest.mark.long
@pytest.mark.parametrize("aim", ["max_rho", "alpha_fair"])
def test_the_campaign(aim):
    """Five hundred instances of each; alpha goes round."""
    aims = [each for each in FAIR if each["objective"] == aim]
    seen = Counter()
    for seed in range(500):
        agree(seed, aims[seed % len(aims)], seen)
    print(f"\nmatching_placement, {aim}: {dict(seen)}, 0 mismatches")


@pytest.mark.parametrize("seed", [0, 4, 9, 23, 38, 59])
@pytest.mark.parametrize("aim", ["max_rho", "alpha_fair"])
def test_numbers_far_apart(aim, seed):
    """Magnitudes from 1e-12 to 1e12: the optimum of brute force all the same, and bounds that hold."""
    aims = [each for each in FAIR if each["objective"] == aim]
    instance = nasty(np.random.default_rng(seed)).model_copy(update=aims[seed % len(aims)])
    best, constant = brute_force_placement(instance), FAMILY.constant(instance)
    for method in ("dp", "columns", "milp"):
        result = dlsched.solve(instance, method=method)
        assert result.status is TerminationStatus.OPTIMAL
        assert abs(result.objective - best[0]) <= SOLVERS * abs(best[0] - constant)
    certificate = dlsched.solve(instance, method="configuration-lp").certificate
    proven, sense = float(verify(instance, certificate)), FAMILY.sense_for(instance)
    assert not sense.better(best[0], proven) or abs(proven - best[0]) <= CLOSE * abs(best[0] - constant)
