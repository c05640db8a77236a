"""Worst instances in closed form: what the methods make of them, against the exact methods, and the promises they meet."""

import pytest

from dlsched import matching_placement
from dlsched.families import find_family
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.heuristics import initial
from dlsched.worst import closed_forms


def ratio(instance, method):
    """Objective of a method by the proven optimum, and the ratio that its guarantee allows."""
    family = find_family(instance.family)
    best = family.solve(instance, method="exact")
    assert str(best.status) == "optimal"
    found = family.solve(instance, method=method)
    guarantee = family.methods[method].guarantee
    assert guarantee.holds_for(instance)
    return found.objective / best.objective, guarantee.worst(instance, best.objective) / best.objective


def doubling_of(most, second=1):
    """(2P + 2U) / (P + 4U), P = ``most``, U = ``second``: 5/4, 3/2, 17/10, 11/6 ... 1025/514 for U = 1."""
    return (2 * most + 2 * second) / (most + 4 * second)


FORMS = {
    "doubling": [
        ("doubling_family", (power, jobs), method, doubling_of(2**power), 1e-12)
        for power in range(2, 11)
        for jobs in (2, 5)
        for method in ("doubling", "marginal")
    ],
    "half of the most GPUs that fit, on a plateau": [
        ("plateau_family", sizes, method, sizes[0] / 2, 1e-12)
        for sizes in ((2, 2), (3, 2), (4, 1), (9, 3), (32, 4))
        for method in ("doubling", "marginal")
    ],
    "hull on consecutive counts, below 2": [
        ("hull_family", (most,), "hull", (2 * most - 1) / (most + 1), 1e-5) for most in (2, 3, 4, 16, 100)
    ],
    "on the line itself hull is as good as marginal": [
        ("hull_family", (most, "all", 0.0), method, 1, 0)
        for most in (2, 3, 4, 16, 100)
        for method in ("hull", "marginal")
    ],
    "hull on powers of two, below 3": [
        ("hull_family", (2**power, "powers"), "hull", max(1, 3 * 2**power / (2**power + 4)), 1e-5)
        for power in range(1, 11)
    ],
    "the widest step of the hull, where speed is super-linear": [
        ("widest_family", (most,), "hull", most - 1, 1e-3) for most in (2, 5, 64)
    ],
    "equal shares: about C / 2 with more than C / 2 jobs": [
        ("equal_family", sizes, "equal", factor, 1e-12) for *sizes, factor in ((11, 6, 6), (12, 2, 11 / 6), (7, 7, 1))
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_method_is_as_bad_as_its_form_says(form):
    """But for a little, where the form is approached; and the guarantee allows that, and no more."""
    for maker, arguments, method, factor, little in FORMS[form]:
        found, allowed = ratio(getattr(closed_forms, maker)(*arguments), method)
        assert found == pytest.approx(factor, rel=little), (arguments, method)
        assert found <= allowed == pytest.approx(factor, rel=1e-8), (arguments, method)


@pytest.mark.parametrize("gpus", [5, 9, 10, 11, 17, 18, 19, 20, 21, 22, 23, 33, 34, 37, 41])
def test_two_jobs_on_any_number_of_gpus(gpus):
    """P and U are the two largest powers of two in the number of GPUs."""
    first = 2 ** (gpus.bit_length() - 1)
    second = 2 ** ((gpus - first).bit_length() - 1)
    instance = closed_forms.doubling_family(first.bit_length() - 1, 2, second)
    assert instance.gpus <= gpus
    found, allowed = ratio(instance.model_copy(update={"gpus": gpus}), "doubling")
    assert found == pytest.approx(doubling_of(first, second), rel=1e-12)
    assert found <= allowed


@pytest.mark.parametrize("power", range(1, 7))
def test_doubling_of_any_count(power):
    """All but twice the optimum on 2^(power + 1) - 1 GPUs, where costs are convex; L / 2 is less than 2 for 3 GPUs only."""
    found, allowed = ratio(closed_forms.twice_family(power), "doubling")
    assert found == pytest.approx(2 - 2.0**-power, rel=1e-12)
    assert found <= allowed == pytest.approx(1.5 if power == 1 else 2, rel=1e-8)


@pytest.mark.parametrize("power", range(1, 11))
def test_on_the_line_hull_is_doubling(power):
    """On powers of two, with less than twice the optimum."""
    on_line = closed_forms.hull_family(2**power, "powers", little=0.0)
    assert ratio(on_line, "hull") == ratio(on_line, "doubling")
    assert ratio(on_line, "hull")[0] < 2


@pytest.mark.parametrize("most", [4, 8, 64])
def test_doubling_of_super_linear_speed(most):
    """Half of the most GPUs that fit, though savings fall; hull takes the same steps, and the widest is as wide."""
    for method in ("doubling", "marginal", "hull"):
        found, allowed = ratio(closed_forms.widest_family(most, "powers", above=False), method)
        assert found == pytest.approx(most / 2, rel=1e-3)
        assert found <= allowed == pytest.approx(most / 2, rel=1e-8)


def saved(instance, method):
    """Part of the largest possible saving over the initial workers that a method saves."""
    data = arrays(instance)
    start = data.total(initial(data)) / data.jobs
    found, best = (matching_placement.solve(instance, method=name).objective for name in (method, "exact"))
    return (start - found) / (start - best)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_local_search_saves_little_more_than_three_fifths(length):
    """S(n) of 1 + S(n - 1): 2/3, 13/21, ... in the limit 3/5."""
    sums = [sum(3.0**-place for place in range(last + 1)) for last in (length, length - 1)]
    assert saved(closed_forms.local_search_family(length), "local-search") == pytest.approx(
        sums[0] / (1 + sums[1]), abs=2e-3
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_marginal_saves_little_more_than_half(size):
    """(n + 2) / (2n + 2) of what the best completion of the same initial workers saves."""
    instance = closed_forms.marginal_placement_family(size)
    assert saved(instance, "marginal") == pytest.approx((size + 2) / (2 * size + 2), abs=1e-5)
    if size <= 2:  # beyond, completions are too many to try
        found, allowed = ratio(instance, "marginal")
        assert found <= allowed


@pytest.mark.parametrize("slots", [1, 2, pytest.param(4, marks=pytest.mark.long)])
def test_slot_greedy_has_little_more_than_half(slots):
    """T of 2T - 1, but for the little that makes the narrow jobs worth more."""
    found, allowed = ratio(closed_forms.slot_greedy_family(slots), "slot-greedy")
    assert found == pytest.approx(slots / (2 * slots - 1), rel=1e-3)
    assert found >= allowed


@pytest.mark.parametrize(("gpus", "short"), [(2, 3), (2, 5), (3, 6)])
def test_strict_queue(gpus, short):
    """(G + 1) (n + 1) / (n + G + 1): for many short jobs G + 1, which is promised."""
    found, allowed = ratio(closed_forms.strict_family(gpus, short), "a-srpt-strict")
    assert found == pytest.approx((gpus + 1) * (short + 1) / (short + gpus + 1), rel=1e-5)
    assert found <= allowed == pytest.approx(gpus + 1)


@pytest.mark.parametrize("rule", ["first-fit", "best-fit", "dot-product", "fgd"])
@pytest.mark.parametrize(("jobs", "length"), [(3, 10), (4, 1000), (6, 100), (5, 2**20)])
def test_a_long_slice_blocks_a_gpu(rule, jobs, length):
    """I - 1 in the limit where the optimum lets none wait, I where the order of the queue is bad too, which is promised."""
    found, allowed = ratio(closed_forms.blocking_family(jobs, length), rule)
    constant = sum(range(1, jobs - 1))
    objective, best = 1 + (jobs - 1) * length + constant, length + jobs - 1 + constant
    assert found == pytest.approx(objective / best, rel=1e-12)
    assert allowed == pytest.approx((jobs * (best - constant) + constant) / best, rel=1e-8)
    found, allowed = ratio(closed_forms.blocking_family(jobs, length, placed=False), rule)
    pairs = jobs * jobs - jobs
    assert found == pytest.approx((pairs + 2 * jobs * length) / (pairs + 2 * length - 2 + 2 * jobs), rel=1e-12)
    assert found <= allowed == pytest.approx(jobs, rel=1e-8)
