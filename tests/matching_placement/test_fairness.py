"""The objectives beside the mean: by hand, as fields of instances, and what refuses them."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dlsched
from dlsched import Limits, TerminationStatus, matching_placement
from dlsched.certificates import DualsCertificate
from dlsched.core.errors import InstanceError, UsageError
from dlsched.core.status import Sense
from dlsched.matching_placement import Placement, figures, generate, objective
from dlsched.matching_placement.certificate import verify
from dlsched.testing import brute_force_placement
from dlsched.testing.matching_placement import FAIR

from .draw import entry, made
from .nasty import nasty_objective

RECORD = matching_placement.FAMILY


def six(**aim):
    """Six workers of rate 1; a has 1 sample, b 16. An equal share is three workers: 1/3 s and 16/3 s."""
    return made({f"v{k}": "V" for k in range(6)}, entry({"V": 1.0}, 1), entry({"V": 1.0}, 16), **aim)


RATIO, ALPHA_2 = {"objective": "max_rho"}, {"objective": "alpha_fair", "alpha": 2}
ONE_FIVE = Placement({"a": ["v0"], "b": ["v1", "v2", "v3", "v4", "v5"]})
"""a takes 1 s, three times its share; b 3.2 s, 0.6 times."""


@pytest.mark.parametrize(
    ("aim", "value"),
    [
        ({}, 2.1),
        ({"objective": "max_rho"}, 3.0),
        ({"objective": "alpha_fair", "alpha": 0}, 1 / 3 + 5 / 3),
        ({"objective": "alpha_fair", "alpha": 0.5}, 2 * (math.sqrt(1 / 3) + math.sqrt(5 / 3))),
        ({"objective": "alpha_fair", "alpha": 1}, math.log(5 / 9)),
        ({"objective": "alpha_fair", "alpha": 2}, -3.6),
        ({"objective": "alpha_fair", "alpha": 3}, -(9 + 0.36) / 2),
    ],
)
def test_objectives_of_a_placement_by_hand(aim, value):
    """One worker and five; the figures are the same whatever is optimised."""
    assert objective(six(**aim), ONE_FIVE) == pytest.approx(value, rel=1e-14)
    assert figures(six(**aim), ONE_FIVE) == pytest.approx(
        {"mean_completion_s": 2.1, "max_rho": 3.0, "jain_index": 3.6**2 / 2 / (9 + 0.36), "idle_workers": 0}
    )


@pytest.mark.parametrize(
    ("aim", "held", "value"),
    [
        ({}, (1, 5), 2.1),
        ({"objective": "max_rho"}, (3, 3), 1.0),
        ({"objective": "alpha_fair", "alpha": 0.5}, (3, 3), 4.0),
        ({"objective": "alpha_fair", "alpha": 1}, (3, 3), 0.0),
        ({"objective": "alpha_fair", "alpha": 2}, (3, 3), -2.0),
    ],
)
@pytest.mark.parametrize("method", ["exact", "dp", "columns", "milp", "beam", "local-search", "marginal"])
def test_the_best_placement_by_hand(aim, held, value, method):
    """1/n + 16/(6 - n) is least at n = 1; every fair objective gives both the same share."""
    result = dlsched.solve(six(**aim), method=method)
    assert result.objective == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert tuple(len(workers) for workers in result.solution.workers.values()) == held
    assert result.sense is (Sense.MAXIMIZE if aim.get("alpha") else Sense.MINIMIZE)


def test_logarithms_are_counted_from_where_no_job_is_below():
    """The logarithm of the most that a job can have, 6 workers or x = 2, and 1 more for each job."""
    instance = six(objective="alpha_fair", alpha=1)
    assert RECORD.constant(instance) == pytest.approx(2 * (math.log(2) + 1), rel=1e-14)
    assert RECORD.constant(six(objective="alpha_fair", alpha=2)) == 0.0
    assert dlsched.solve(instance).gap == 0.0


@pytest.mark.parametrize(
    ("aim", "words"),
    [
        ({"alpha": 1.0}, "alpha: found 1.0, allowed: none with objective 'mean'"),
        ({"objective": "max_rho", "alpha": 0.0}, "alpha: found 0.0, allowed: none with objective 'max_rho'"),
        ({"objective": "alpha_fair"}, "alpha: found none, allowed: a number >= 0 with objective 'alpha_fair'"),
        ({"objective": "alpha_fair", "alpha": -1.0}, "alpha: found -1.0, allowed: a number >= 0"),
        ({"objective": "alpha_fair", "alpha": 2000.0}, "alpha: found 2000.0, allowed: a number <= 1000"),
        ({"objective": "alpha_fair", "alpha": 500.0}, r"alpha: .* utilities of jobs\[0\] are from 1e-100 to 1e100"),
        ({"objective": "fair"}, "objective: found \"fair\", allowed: 'mean', 'max_rho' or 'alpha_fair'"),
    ],
)
def test_what_does_not_go_together_is_refused(aim, words):
    """The field is named."""
    with pytest.raises(InstanceError, match=words):
        six(**aim)


def test_files_without_the_fields_are_as_they_were():
    """Neither field is written, so the hash is that of before."""
    assert {"objective", "alpha"}.isdisjoint(six().as_data())
    assert six(objective="mean").sha256 == six().sha256 != six(objective="max_rho").sha256


@pytest.mark.parametrize("aim", FAIR)
def test_methods_that_cannot_serve_say_which_can(aim):
    """Both minlp and relaxation serve the mean only, assignment the largest ratio too."""
    able = {"assignment"} if aim["objective"] == "max_rho" else set()
    for method in {"minlp", "relaxation", "assignment"} - able:
        with pytest.raises(UsageError, match=rf"method {method}: found objective .* use exact, columns, dp or milp"):
            dlsched.solve(six(**aim), method=method)


def test_the_largest_ratio_worker_by_worker():
    """The model minimises one variable, no less than any job's ratio."""
    result = dlsched.solve(six(objective="max_rho"), method="assignment")
    assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(1.0))


@pytest.mark.parametrize("seed", [3, 29, 39, 93, 128, 131])
@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_tiny_ratios_worker_by_worker(seed, solver):
    """Optima from 6e-29 to 3e-6, by trying all: rates of equal shares are so much lower. In ratios of 1 solvers see 0."""
    instance = nasty_objective(np.random.default_rng([seed, *b"fair placement"]))
    best, _ = brute_force_placement(instance)
    result = dlsched.solve(instance, method="assignment", solver=solver)
    assert best < 1e-5 and instance.objective == "max_rho"
    assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(best, rel=1e-6))


@pytest.mark.parametrize("formulation", ["assignment", "milp"])
def test_tiny_ratios_of_complete_models(formulation):
    """Solvers end far from the optimum, 7e-13, which is within their tolerances; the exact search goes on from there."""
    instance = nasty_objective(np.random.default_rng([93, *b"fair placement"]))
    best, _ = brute_force_placement(instance)
    result = dlsched.formulate(instance, formulation, complete=True).solve()
    assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(best, rel=1e-6))


def test_generated_jobs_are_the_same_whatever_is_optimised():
    """Only the fields, the name and the command differ."""
    plain, fair = generate(seed=3), generate(seed=3, objective="alpha_fair", alpha=2.0)
    assert (fair.jobs, fair.workers) == (plain.jobs, plain.workers)
    assert (fair.objective, fair.alpha, fair.name) == ("alpha_fair", 2.0, f"{plain.name}-alpha_fair-2")
    assert fair.source.startswith(f"{plain.source.splitlines()[0]} --objective alpha_fair --alpha 2.0")
    for wrong in ({"objective": "x"}, {"alpha": 1.0}, {"objective": "alpha_fair"}, {"objective": "mean", "alpha": 1.0}):
        with pytest.raises(UsageError, match=r"objective: found 'x'|alpha: found"):
            generate(**wrong)


def test_certificates_by_hand():
    """Price p of a worker. alpha 2: -U is 3/n of a and 3/n of b: 3/n + p n is 2 at n = 3, p = 1/3: -4 + 6/3 = -2."""
    exact = verify(six(objective="alpha_fair", alpha=2), DualsCertificate("milp", {"stock_V": 1 / 3}, 0.0))
    assert 0 <= exact - Fraction(-2) < Fraction(1, 10**9)
    # below 1 each job needs four of the six workers
    ratio = six(objective="max_rho")
    below = DualsCertificate("threshold", {"stock_V": -1.0}, 0.999)
    assert verify(ratio, below) == Fraction(0.999)


@pytest.mark.parametrize(
    ("aim", "certificate", "words"),
    [
        (RATIO, DualsCertificate("threshold", {"stock_V": -1.0}, 1.0), "do not exclude a ratio of 1.0"),
        (RATIO, DualsCertificate("threshold", {}, 0.9), "do not exclude a ratio of 0.9"),
        (RATIO, DualsCertificate("threshold", {"stock_V": 1.0}, 0.9), "wrong sign"),
        (RATIO, DualsCertificate("milp", {"stock_V": -1.0}, 0.9), "no duals of a formulation 'milp'"),
        (ALPHA_2, DualsCertificate("milp", {"stock_V": -1.0}, 0.0), "wrong sign"),
        (ALPHA_2, DualsCertificate("relaxation", {}, 0.0), "no duals of a formulation"),
        ({}, DualsCertificate("threshold", {"stock_V": -1.0}, 0.5), "no duals of a formulation 'threshold'"),
    ],
)
def test_what_is_no_certificate_of_the_objective_is_refused(aim, certificate, words):
    """Prices of another objective, of the wrong sign, or that leave room."""
    with pytest.raises(ValueError, match=words):
        verify(six(**aim), certificate)


@pytest.mark.parametrize("aim", FAIR)
@pytest.mark.parametrize("method", ["columns", "milp", "beam", "configuration-lp"])
def test_limits_hold(aim, method):
    """Without a node there is a first answer, and a limit is what is said."""
    instance = generate(preset="few-types", jobs=4, gpus=9, seed=1, **aim)
    result = dlsched.solve(instance, method=method, limits=Limits(time_s=0))
    assert result.status is TerminationStatus.TIME_LIMIT
    assert (result.solution is not None) == (method != "configuration-lp")
