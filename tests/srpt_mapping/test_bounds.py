"""Bounds by hand, between each other and the optimum; certificates, what refuses them, and the least seconds they use."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import LengthsCertificate, PackingCertificate, PriceCertificate, SrptCertificate, srpt_value
from dlsched.certificates.kinds import certificate_from
from dlsched.core.errors import UsageError
from dlsched.families import FAMILIES
from dlsched.results.reading import claim_from
from dlsched.results.verification import verify_claim
from dlsched.srpt_mapping import solve
from dlsched.srpt_mapping.bounds import bound, combined, length, machine, packing, prices
from dlsched.srpt_mapping.certificate import (
    exact_best_length_s,
    exact_iteration_s,
    exact_length_s,
    exact_size_s,
    verify,
)
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.formulations.placement import best_placement
from dlsched.srpt_mapping.heuristics import fifo, least_work_first
from dlsched.srpt_mapping.layouts import layouts
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

from . import builders
from .builders import ends_of_bandwidth, gang, uniform_s
from .test_heavy_edge import every_placement

SETTINGS = settings(max_examples=20, derandomize=True, deadline=None, database=None)


def made(sizes, *jobs, inside=16.0, nic=8.0):
    """Jobs a, b ..: release, iterations and stages (replicas, compute, output and ring bytes)."""
    jobs = [gang(release, iterations, stages=stages) for release, iterations, *stages in jobs]
    return builders.made(sizes, *jobs, inside=inside, nic=nic)


def plain(replicas):
    """A stage of a second without anything to send."""
    return replicas, 1.0, 0.0, 0.0


def window(touching, charges):
    """A window of the first second."""
    return {"from_s": 0.0, "until_s": 1.0, "touching": touching, "charges": charges}


# two GPUs: a is 3 s on the machine and 6 s alone, b and c are 1 s of both GPUs
THREE = made([2], (0, 6, plain(1)), (0, 1, plain(2)), (0, 1, plain(2)))


def test_bounds_by_hand():
    """SRPT ends at 1, 2 and 5 s; alone they end at 1, 1 and 6 s; the later of both: 1, 2, 6."""
    assert machine(THREE) == SrptCertificate({"a": 3.0, "b": 1.0, "c": 1.0}, 8.0)
    assert length(THREE) == LengthsCertificate({"a": 6.0, "b": 1.0, "c": 1.0}, 8.0)
    assert combined(THREE) == SrptCertificate({"a": 3.0, "b": 1.0, "c": 1.0}, 9.0, {"a": 6.0, "b": 1.0, "c": 1.0})
    assert brute_force_srpt(THREE)[0] == 1 + 2 + 8


def test_releases_by_hand():
    """SRPT: a 0..1, b 1..2, a 2..5, ends 2 and 5 s; alone: 2 and 8 s."""
    instance = made([2], (0, 8, plain(1)), (1, 1, plain(2)))
    assert (machine(instance).value, length(instance).value, combined(instance).value) == (7.0, 10.0, 10.0)


@SETTINGS
@given(srpt_mapping_instances())
def test_bounds_are_in_order_and_verify(instance):
    """machine, length <= combined <= bound <= optimum, length <= prices <= packing; each verifies to its value or a bit more."""
    functions = machine, length, combined, prices, packing, bound
    if infeasible(instance) is not None:
        for function in functions:
            with pytest.raises(UsageError, match="the instance is infeasible: every bound holds"):
                function(instance)
        return
    optimum = brute_force_srpt(instance)[0]
    certificates = [function(instance) for function in functions]
    for certificate in certificates:
        proven = verify(instance, certificate)
        assert Fraction(certificate.value) <= proven <= Fraction(math.nextafter(certificate.value, math.inf))
        assert proven <= Fraction(optimum) * (1 + Fraction(1, 10**12))
    values = [certificate.value for certificate in certificates]
    assert values[2] >= max(values[:2])
    assert values[3] >= values[1] * (1 - 1e-12)
    assert values[4] >= values[3] * (1 - 1e-9)
    assert values[5] == max(values)


@SETTINGS
@given(srpt_mapping_instances(feasible=True))
def test_best_lengths_are_those_of_the_fastest_layouts(instance):
    """As ``layouts``, which searches in floats, finds them; never below the closed form."""
    for index, own in enumerate(layouts(instance)):
        fastest_s = instance.jobs[index].iterations * min(layout.iteration_s for layout in own)
        exact = exact_best_length_s(instance, index)
        assert exact >= exact_length_s(instance, index)
        assert float(exact) == pytest.approx(fastest_s, rel=1e-12)


def test_packing_by_hand():
    """Beside b or c nothing runs, so both run before a: 1, 2 and 8 s, which is optimal. Half of a GPU does not see that."""
    assert packing(THREE).value == pytest.approx(11, rel=1e-9)
    assert prices(THREE).value == 10.5
    # in the first two seconds each job pays as much as it could gain by being first
    by_hand = PackingCertificate((0.0, 1.0, 2.0), {"a": (2.0, 1.0), "b": (2.0, 1.0), "c": (2.0, 1.0)}, (), 0.0)
    assert verify(THREE, by_hand) == 8 + 3 + 3 - 3


def test_forged_packing_certificates_are_refused():
    """As ``check`` does: a value one bit too high; the value of all rates where a rate or a job is left out."""
    result = solve(THREE, method="packing").as_data()
    true = result["certificate"]
    one_more = math.nextafter(float(verify(THREE, certificate_from(true))), math.inf)
    forged = [true | {"value": one_more}]
    for name, row in true["rates"].items():
        number = row.index(max(row))
        without = (*row[:number], 0.0, *row[number + 1 :])
        forged.append(true | {"rates": true["rates"] | {name: without}})
        forged.append(true | {"rates": {job: each for job, each in true["rates"].items() if job != name}})
    assert not failures(result)
    for certificate in forged:
        assert any("is claimed, it proves" in each for each in failures(result | {"certificate": certificate}))


def failures(result):
    """What ``check`` finds wrong in the data of a result of ``THREE``."""
    return verify_claim(FAMILIES["srpt_mapping"], THREE, claim_from(result, "result")).failures


@SETTINGS
@given(srpt_mapping_instances(feasible=True), st.data())
def test_what_claims_more_is_refused(instance, data):
    """A size or length one bit above what the job needs; less, or nothing, is taken, and proves no more."""
    index = data.draw(st.integers(0, len(instance.jobs) - 1))
    name = instance.jobs[index].id
    both = combined(instance)
    needed = {"size": exact_size_s(instance, index), "length": exact_length_s(instance, index)}
    above = {}
    for kind, exact in needed.items():
        least = float(exact)
        above[kind] = least if Fraction(least) > exact else math.nextafter(least, math.inf)
    for wrong in (
        SrptCertificate(both.sizes | {name: above["size"]}, 0.0),
        SrptCertificate(both.sizes, 0.0, both.lengths | {name: above["length"]}),
        LengthsCertificate(both.lengths | {name: above["length"]}, 0.0),
    ):
        with pytest.raises(ValueError, match=rf"s is claimed of job '{name}', it needs"):
            verify(instance, wrong)
    proven = verify(instance, both)
    for share in (0.0, 0.5, 1.0):
        sizes = {job: size * share for job, size in both.sizes.items()}
        lengths = {job: held * data.draw(st.floats(0, 1)) for job, held in both.lengths.items()}
        assert verify(instance, SrptCertificate(sizes, 0.0, lengths)) <= proven
    fewer = {job: size for job, size in both.sizes.items() if job != name}
    assert verify(instance, SrptCertificate(fewer, 0.0)) == verify(instance, SrptCertificate(fewer | {name: 0.0}, 0.0))


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (SrptCertificate({"x": 1.0}, 0.0), "there is no job 'x'"),
        (SrptCertificate({"a": 1.0}, 0.0, {"x": 1.0}), "there is no job 'x'"),
        (LengthsCertificate({"x": 1.0}, 0.0), "there is no job 'x'"),
        (SrptCertificate({"a": -1.0}, 0.0), r"-1.0 s is claimed of job 'a', it needs 3.0 s"),
        (SrptCertificate({"a": math.nan}, 0.0), "nan s is claimed"),
        (SrptCertificate({"a": math.inf}, 0.0), "inf s is claimed"),
        (SrptCertificate({"a": 3.5}, 0.0), "3.5 s is claimed of job 'a', it needs 3.0 s"),
        (SrptCertificate({"a": 3.0}, 0.0, {"a": -2.0}), "-2.0 s is claimed of job 'a', it needs 6.0 s"),
        (LengthsCertificate({"b": math.nan}, 0.0), "nan s is claimed of job 'b'"),
        (LengthsCertificate({"b": -1.0}, 0.0), "-1.0 s is claimed"),
        (PackingCertificate((0.0, 1.0), {"x": (1.0,)}, (), 0.0), "there is no job 'x'"),
        (
            PackingCertificate((0.0, 1.0), {"a": (1.0, 1.0)}, (), 0.0),
            "2 breakpoints have 1 rates between them, found 2",
        ),
        (PackingCertificate((), {}, (window("x", {}),), 0.0), "there is no job 'x'"),
        (PackingCertificate((), {}, (window("a", {"x": 1.0}),), 0.0), "there is no job 'x'"),
        (PriceCertificate(1.0, 1.0), "there are no certificates of kind 'price' in this family"),
    ],
)
def test_what_is_no_certificate_is_refused(certificate, words):
    """Jobs that do not exist, negative or no numbers, too much, and another kind."""
    with pytest.raises(ValueError, match=words):
        verify(THREE, certificate)


@pytest.mark.parametrize(
    ("sizes", "stages", "expected"),
    [
        # a ring of 2 * 2 / 3 * 12 = 16 bytes: inside at 16, on servers of one GPU at 8, on a server of two at 4 B/s
        ([3], [(3, 1.0, 0.0, 12.0)], 1 + Fraction(16, 16)),
        ([1, 1, 1], [(3, 1.0, 0.0, 12.0)], 1 + Fraction(16, 8)),
        ([2, 1], [(3, 1.0, 0.0, 12.0)], 1 + Fraction(16, 4)),
        ([2, 1, 1, 1], [(3, 1.0, 0.0, 12.0)], 1 + Fraction(16, 8)),
        # a chain of two, 2 * 8 bytes between them: beside each other, or at 8 B/s at least
        ([2, 1], [(1, 1.0, 8.0, 0.0), (1, 2.0, 0.0, 0.0)], 2 + Fraction(16, 16)),
        ([1, 1], [(1, 1.0, 8.0, 0.0), (1, 2.0, 0.0, 0.0)], 2 + Fraction(16, 8)),
        # the middle has room for one neighbour beside it: 2 * 8 bytes are near, 2 * 6 are not, at 8 / 2 B/s; or on the
        # server of one GPU both are far, at 8 B/s
        ([2, 2], [(1, 1.0, 8.0, 0.0), (1, 1.0, 6.0, 0.0), (1, 1.0, 0.0, 0.0)], 1 + Fraction(16, 16) + Fraction(12, 4)),
        ([2, 1], [(1, 1.0, 8.0, 0.0), (1, 1.0, 6.0, 0.0), (1, 1.0, 0.0, 0.0)], 1 + Fraction(28, 8)),
        # a partner of two replicas, alone on a server: 16 bytes at 8 B/s
        ([1, 1, 1], [(2, 1.0, 8.0, 0.0), (1, 1.0, 0.0, 0.0)], 1 + Fraction(16, 8)),
        # two replicas on two servers: half of their partner near at best, 8 bytes at 16 or 8 B/s; beside it they are not
        ([2, 1], [(2, 5.0, 8.0, 0.0), (1, 1.0, 0.0, 0.0)], 5 + Fraction(8, 16) / 2 + Fraction(8, 8) / 2),
    ],
)
def test_least_seconds_by_hand(sizes, stages, expected):
    """Rings, room beside a stage, and servers of several sizes; exactly."""
    assert exact_iteration_s(made(sizes, (0, 1, *stages)), 0) == expected


@settings(SETTINGS, max_examples=80)
@given(srpt_mapping_instances(max_jobs=2, max_servers=3, max_gpus=3, feasible=True))
def test_least_seconds_are_between_alpha_low_and_the_best_placement(instance):
    """Never above the best placement; never below alpha^low where a server's inside is its fastest way."""
    for index, job in enumerate(instance.jobs):
        least = exact_iteration_s(instance, index)
        best_s = min(alpha for alpha, _ in every_placement(instance, job, [server.gpus for server in instance.servers]))
        assert least <= Fraction(best_s) * (1 + Fraction(1, 10**12))
        if instance.intra_bandwidth_bytes_per_s >= max(instance.shares):
            assert least >= uniform_s(job, ends_of_bandwidth(instance)[1]) * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("seed", range(10))
def test_least_seconds_of_larger_jobs(seed):
    """Jobs of up to twelve GPUs on up to six uneven servers, the best placement by CP-SAT."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(3, 6))]
    inside, nic = rng.choice([(16.0, 8.0), (64.0, 2.0), (1.0, 8.0)])
    replicas = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    while sum(replicas) > sum(sizes):
        replicas.pop()
    stages = [
        (count, rng.uniform(0.1, 2), rng.uniform(0, 30) * (number < len(replicas) - 1), rng.uniform(0, 30))
        for number, count in enumerate(replicas)
    ]
    instance = made(sizes, (0, 1, *stages), inside=inside, nic=nic)
    found = best_placement(instance.jobs[0].graph, sizes, instance.shares, inside)
    assert exact_iteration_s(instance, 0) <= Fraction(found.iteration_s) * (1 + Fraction(1, 10**12))


def test_srpt_value_by_hand():
    """SRPT ends 1, 2 and 5; lengths end 1, 1 and 6; exactly, with numbers that are no short binary fractions."""
    assert srpt_value([0, 0, 0], [3, 1, 1]) == 8
    assert srpt_value([0, 0, 0], [3, 1, 1], [6, 1, 1]) == 9
    assert srpt_value([0, 0, 0], [3, 1, 1], [0, 0, 0]) == 8
    assert srpt_value([0.0, 1.0], [4.0, 1.0]) == 2 + 5
    assert srpt_value([0.0, 1.0], [4.0, 1.0], [4.0, 1.0]) == 2 + 5
    assert srpt_value([0.0, 1.0], [4.0, 1.0], [4.5, 3.0]) == 4 + 5  # 4 and 4.5 alone: max(2, 4) + max(5, 4.5)
    assert srpt_value([], []) == 0
    assert srpt_value([0.0], [0.1]) == Fraction(0.1)
    assert srpt_value([0.1, 0.2], [0.3, 0.0]) == Fraction(0.1) + Fraction(0.3) + Fraction(0.2)
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="sizes must be numbers >= 0"):
            srpt_value([0.0], [wrong])
        with pytest.raises(ValueError, match="sizes must be numbers >= 0"):
            srpt_value([0.0], [1.0], [wrong])


@pytest.mark.parametrize("seed", range(60))
def test_srpt_value_bounds_any_schedule_of_one_machine(seed):
    """Random preemption in quarters; lengths that no job undercuts in this schedule, and some more slack."""
    rng = random.Random(seed)
    releases = [rng.randint(0, 12) / 4 for _ in range(rng.randint(1, 7))]
    sizes = [rng.randint(0, 12) / 4 for _ in releases]
    left, now, ends = dict(enumerate(sizes)), 0.0, {}
    idle = rng.choice([0.0, 0.2])
    while left:
        there = [job for job in left if releases[job] <= now]
        for job in [each for each in there if left[each] == 0]:
            ends[job] = now
            del left[job]
            there.remove(job)
        if there and rng.random() >= idle:
            job = rng.choice(there)
            left[job] -= 0.25
            if left[job] == 0:
                ends[job] = now + 0.25
                del left[job]
        now += 0.25
    total = sum(map(Fraction, ends.values()))
    lengths = [(ends[job] - release) * rng.choice([0, 0.5, 1]) for job, release in enumerate(releases)]
    assert srpt_value(releases, sizes) <= srpt_value(releases, sizes, lengths) <= total


@SETTINGS
@given(srpt_mapping_instances(max_jobs=8, feasible=True, exchange=False))
def test_srpt_value_bounds_gangs(instance):
    """Without exchange lengths are known: sizes n g p / G and lengths n p prove no more than any policy attains."""
    releases = [job.release_s for job in instance.jobs]
    lengths = [job.iterations * max(stage.compute_s for stage in job.stages) for job in instance.jobs]
    sizes = [
        seconds * job.gpus / instance.total_gpus * (1 - 1e-15)
        for job, seconds in zip(instance.jobs, lengths, strict=True)
    ]
    value = srpt_value(releases, sizes, lengths)
    assert combined(instance).value == pytest.approx(float(value), rel=1e-12)
    for policy in (fifo, least_work_first):
        for backfill in (False, True):
            schedule = policy(instance, backfill=backfill)
            ends = [schedule.jobs[job.id].start_s + held for job, held in zip(instance.jobs, lengths, strict=True)]
            assert float(value) <= math.fsum(ends) * (1 + 1e-12)
