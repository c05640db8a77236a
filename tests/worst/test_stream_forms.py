"""Streams in closed form on which ratios of policies grow with the number of jobs, against forms by hand and exact SRPT."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm

import pytest

import dlsched
from dlsched.elastic_stream.instance import Instance
from dlsched.families import find_family
from dlsched.worst import closed_forms
from dlsched.worst.competitive.proven import POLICIES, prove_policy, speeds_of
from dlsched.worst.competitive.stream import Near, play

MANY = (2, 3, 5, 10, 50)
FEW = 32
"""Jobs from which policies look at arrays, which exact numbers do not fit."""
LONG, LITTLE = 2**40, Fraction(1, 2**20)
FIRST_COME = (
    "fifo-fastest",
    "fixed",
    "fifo-knee",
    *(f"{o}-{s}" for o in ("las", "efficiency") for s in ("fixed", "fastest", "knee")),
)
SHORTEST = ("sjf-fixed", "sjf-fastest", "sjf-knee")
BOTH = (
    "equal",
    "marginal",
    "doubling",
    "myopic",
    *(f"{o}-{s}" for o in ("las", "efficiency") for s in ("equal", "marginal")),
)
SHARED = ("equal", "marginal", "myopic", "srpt-equal", "sjf-marginal", "las-equal", "efficiency-marginal")


def srpt(jobs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Least total flow time of jobs by arrival and length on one machine: the least time left goes first (Schrage 1968)."""
    coming, left, now, flow = sorted(jobs), list[Fraction](), Fraction(0), Fraction(0)
    while coming or left:
        now = now if left else max(now, coming[0][0])
        while coming and coming[0][0] <= now:
            left = sorted([*left, coming.pop(0)[1]])
        passed = min([left[0], *(arrival - now for arrival, _ in coming[:1])])
        flow, now = flow + passed * len(left), now + passed
        left = [each for each in (left[0] - passed, *left[1:]) if each]
    return flow


def by_hand_waiting(n: int) -> tuple[Fraction, Fraction]:
    """Flow times: all wait for the long one; it waits for them."""
    after = Fraction(n * (n - 1), 2)
    return n * LONG + after, LONG + after + n - 1


def by_hand_waiting_for_two(n: int) -> tuple[Fraction, Fraction]:
    """Two long ones at half speed, then pairs of short ones, of which the last may be alone; or the short ones first."""
    short, pairs = n - 2, (n - 2) // 2
    ends = 2 * pairs * (pairs + 1) + short % 2 * (2 * pairs + 1)
    return Fraction(n * 2 * LONG + ends), Fraction(3 * LONG + 2 * short + short * (short + 1) // 2)


def by_hand_overtaking(n: int) -> tuple[Fraction, Fraction]:
    """Each waits for all after it; or for what is left of those before, which makes up for its being shorter."""
    return Fraction(n * (n + 1), 2) - LITTLE * n * (n * n - 1) / 3, Fraction(n)


def by_hand_overtaking_pairs(n: int) -> tuple[Fraction, Fraction]:
    """Of a group, how many jobs and how long one takes alone; all pairs are served at once, or one by one."""
    groups = [(2 - (g == 0 and n % 2), 1 - g * LITTLE) for g in range(-(-n // 2))]
    last = sum(many * work - LITTLE for many, work in groups) + LITTLE
    policy = optimum = arrival = Fraction(0)
    for g, (many, work) in enumerate(groups):
        policy += many * (last + (len(groups) - 1 - g) * LITTLE - arrival)
        optimum += many * g * LITTLE + (work if many == 1 else 3 * work)
        arrival += many * work - LITTLE
    return policy, optimum


def by_hand_sharing(n: int) -> tuple[Fraction, Fraction]:
    """2n - 1 + H and 1 + 2H, H the harmonic number of n - 1."""
    harmonic = sum((Fraction(1, k) for k in range(1, n)), Fraction(0))
    return 2 * n - 1 + harmonic, 1 + 2 * harmonic


def numbers(instance: Instance) -> list[tuple[Fraction, Fraction]]:
    """Arrivals and seconds on all units, as the file has them."""
    return [(Fraction(job.arrival_s), Fraction(job.epochs)) for job in instance.jobs]


def held_to(instance: Instance, method: str, flows: tuple[Fraction, Fraction], *, optimum: Fraction) -> None:
    """The simulator has the ratio by hand, SRPT the optimum by hand, and the method's promise allows that."""
    assert float(optimum) == pytest.approx(float(flows[1]), rel=1e-12)
    found, best = dlsched.solve(instance, method=method).objective, float(flows[1]) / len(instance.jobs)
    assert found is not None
    assert found / best == pytest.approx(float(flows[0] / flows[1]), rel=1e-12)
    family = find_family("elastic_stream")
    promise = family.method(method).guarantee
    if promise is not None and promise.holds_for(instance):
        assert found <= promise.worst(instance, best)


FORMS: dict[
    str,
    tuple[
        Callable[[int], Instance], Callable[[int], tuple[Fraction, Fraction]], tuple[str, ...], Callable[[int], float]
    ],
] = {
    "all wait for one": (closed_forms.waiting_family, by_hand_waiting, FIRST_COME, lambda n: n),
    "all wait for two": (
        lambda n: closed_forms.waiting_family(n, long=2),
        by_hand_waiting_for_two,
        BOTH,
        lambda n: 2 * n / 3,
    ),
    "each overtakes": (closed_forms.overtaking_family, by_hand_overtaking, SHORTEST, lambda n: (n + 1) / 2),
    "pairs overtake": (
        lambda n: closed_forms.overtaking_family(n, 2),
        by_hand_overtaking_pairs,
        ("sjf-equal", "sjf-marginal"),
        lambda n: (n * n + 2 * n - 1) / (3 * n - 1) if n % 2 else (n + 2) / 3,
    ),
}


@pytest.mark.parametrize("jobs", MANY)
@pytest.mark.parametrize("form", FORMS)
def test_a_policy_is_as_bad_as_its_form_says(form: str, jobs: int) -> None:
    """The policy's own code on exact numbers, the simulator on all; the form's limit is close."""
    make, by_hand, methods, limit = FORMS[form]
    instance, flows = make(jobs), by_hand(jobs)
    assert srpt(numbers(instance)) == flows[1]
    assert float(flows[0] / flows[1]) == pytest.approx(limit(jobs), rel=1e-3)
    for method in methods:
        if jobs < FEW:
            arrivals, works = ([Near(each) for each in row] for row in zip(*numbers(instance), strict=True))
            speeds = [(Fraction(1, 2), Fraction(1))] * jobs
            assert play(POLICIES[method](), speeds, [1] * jobs, arrivals, works)[0].at == flows[0]
        held_to(instance, method, flows, optimum=srpt(numbers(instance)))


@pytest.mark.parametrize(("jobs", "units"), [(2, 2), (3, 6), (5, 60), (10, 2520)])
def test_equal_shares_of_jobs_that_come_as_the_optimum_is_done(jobs: int, units: int) -> None:
    """About n / log n, where shares are whole numbers of units."""
    assert units == lcm(*range(1, jobs + 1))
    instance = closed_forms.sharing_family(jobs, units)
    for method in SHARED:
        held_to(instance, method, by_hand_sharing(jobs), optimum=srpt(numbers(instance)))


def test_equal_shares_of_fifty_jobs() -> None:
    """On 64 units shares are rounded down: by the recursion in fractions the ratio is above that of whole shares."""
    jobs, units = 50, 64
    instance = closed_forms.sharing_family(jobs, units)
    works = [Fraction(1), Fraction(1)]
    for present in range(2, jobs):
        works.append(works[-1] - works[-1] * (units // present) / units)
    arrivals = [sum(works[1:k], Fraction(0)) for k in range(jobs)]
    end = arrivals[-1] + works[-1] * units
    policy, optimum = sum(end - each for each in arrivals), 2 * sum(works) - 1
    held_to(
        instance, "equal", (Fraction(policy), Fraction(optimum)), optimum=srpt([*zip(arrivals, works, strict=True)])
    )
    whole = by_hand_sharing(jobs)
    assert policy / optimum > whole[0] / whole[1] > 10


@pytest.mark.parametrize("jobs", MANY)
def test_equal_shares_of_jobs_that_all_come_at_once(jobs: int) -> None:
    """By hand: all end at n, or at 1, 2, ..., n: 2n / (n + 1), as by Motwani, Phillips and Torng (1994)."""
    instance = closed_forms.waiting_family(jobs, length=1, units=jobs)
    flows = Fraction(jobs * jobs), Fraction(jobs * (jobs + 1), 2)
    for method in ("equal", "las-equal", "marginal"):
        held_to(instance, method, flows, optimum=srpt(numbers(instance)))


@pytest.mark.parametrize("jobs", MANY)
def test_one_by_one_where_side_by_side_is_faster(jobs: int) -> None:
    """By hand: at speeds of nearly 1 whatever the units, n jobs end at 1, 2, ..., n, or all at 1."""
    instance = closed_forms.waiting_family(jobs, 1, units=jobs, gain=2.0**-20)
    alone_s = instance.jobs[0].speed.epoch_time_s(1)
    for method in ("fifo-fastest", "srpt-fastest", "sjf-fastest"):
        found = dlsched.solve(instance, method=method).objective
        assert found == pytest.approx((jobs + 1) / 2)
        assert found == pytest.approx(alone_s * (jobs + 1) / 2, rel=1e-4)
    assert dlsched.solve(instance, method="equal").objective == pytest.approx(alone_s)


@pytest.mark.parametrize("jobs", [2, 3])
def test_optima_of_forms_are_proven(jobs: int) -> None:
    """The exact method, which knows nothing of SRPT, where numbers are moderate."""
    little = Fraction(1, 8)
    for instance in (
        closed_forms.waiting_family(jobs, 8),
        closed_forms.waiting_family(jobs, 8, 2),
        closed_forms.overtaking_family(jobs, 1, little),
        closed_forms.overtaking_family(jobs, 2, little),
        closed_forms.sharing_family(jobs, jobs),
    ):
        exact = dlsched.solve(instance, method="exact")
        assert str(exact.status) == "optimal"
        assert exact.objective == pytest.approx(float(srpt(numbers(instance))) / jobs)


@pytest.mark.parametrize(
    ("method", "limit"),
    [
        ("fifo-fastest", lambda n: n),
        ("equal", lambda n: Fraction(2 * n, 3)),
        ("sjf-fastest", lambda n: Fraction(n + 1, 2)),
    ],
)
def test_for_few_jobs_nothing_is_worse(method: str, limit: Callable[[int], Fraction]) -> None:
    """The suprema on two units with linear speeds are those limits."""
    for jobs in (2, 3):
        assert prove_policy(method, speeds=speeds_of("linear", 2), jobs=jobs).supremum == limit(jobs)


def test_ratios_rise_with_the_jobs() -> None:
    """Of equal shares by hand: 4/3, 13/8, ... without end."""
    ratios = [policy / optimum for policy, optimum in map(by_hand_sharing, range(2, 40))]
    assert ratios[:2] == [Fraction(4, 3), Fraction(13, 8)]
    assert all(before < after for before, after in pairwise(ratios))
