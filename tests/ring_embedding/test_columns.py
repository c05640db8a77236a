"""Bounds with rings: between the optimum and the bounds without, by hand, and at every stop on the way."""

import pytest
from hypothesis import given

from dlsched import ring_embedding
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.horizon.columns import Columns
from dlsched.ring_embedding.horizon.relaxation import relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import racks, switches
from .test_brute_force import TRIANGLE, job, made, profile

SOLVED = 1e-6


def columns(instance):
    """The bound."""
    return solve(instance, method="columns").bound


def test_thin_links_by_hand():
    """Two servers of a GPU, a link too narrow for a ring: one worker a slot. In a star, a ring of two and one alone."""
    assert columns(made([1, 1], [("s0", "s1", 0.5)], job(), slots=2)) == pytest.approx(2, rel=SOLVED)
    star = [(f"s{n}", "hub", width) for n, width in enumerate((1.0, 1.0, 0.5))]
    instance = made([1, 1, 1], star, job(), job("b", workers=1), switches=["hub"], slots=2)
    assert columns(instance) == pytest.approx(6, rel=SOLVED)
    both = made([1, 1, 1], star, job(), job("b"), switches=["hub"], slots=2)
    assert columns(both) == pytest.approx(6, rel=SOLVED)
    assert columns(made([1, 1, 1], star, job(), switches=["hub"], slots=2)) == pytest.approx(4, rel=SOLVED)


def test_two_rings_on_a_link_by_hand():
    """Four GPUs, two jobs of three workers, one ring across the link: 3 + 1, or 2 + 2; half rings do not gain more."""
    instance = made([2, 2], [("s0", "s1", 1.0)], job("a"), job("b"), slots=2)
    assert columns(instance) == pytest.approx(8, rel=SOLVED)


def test_paths_by_hand():
    """Three servers of a GPU, links of half a ring, listed paths: one worker each for as many as there are jobs."""
    thin = [(here, there, 0.5) for here, there, _ in TRIANGLE]
    instance = made([1, 1, 1], thin, job("a"), job("b"), paths=["s0 s1", "s1 s2", "s2 s0"], slots=3)
    assert solve(instance, method="horizon").bound == pytest.approx(9, rel=1e-8)
    result = solve(instance, method="columns")
    assert result.bound == pytest.approx(6, rel=SOLVED)
    assert result.bound_source.startswith("dlsched column generation")
    assert result.bound <= result.certificate.value


@profile(8)
@given(ring_embedding_instances())
def test_between_the_optimum_and_the_horizon(instance):
    """And the certificate, which the function of that name returns, proves what it claims: in a forest the bound itself."""
    best = brute_force_ring(instance)[0]
    result = solve(instance, method="columns")
    assert result.bound >= best * (1 - 1e-9)
    assert result.bound <= solve(instance, method="horizon").bound * (1 + 1e-9)
    assert result.certificate.value >= verify(instance, result.certificate)
    assert result.certificate.value >= result.bound
    assert ring_embedding.columns(instance).value == pytest.approx(result.certificate.value, rel=1e-12)
    assert (result.objective, result.solution) == (None, None)
    if instance.paths is None:
        assert result.bound == result.certificate.value


def test_the_last_of_the_tolerance_is_within_the_bound():
    """A worker takes 4 GPUs and 0.9995 of the 4e-9 that the checker tolerates: it may run in the one slot, and it counts."""
    instance = made([4], [], job(workers=1, demand={"gpu": 4 + 0.9995 * 4e-9}))
    assert ring_embedding.check(instance, ring_embedding.Embedding({1: {"a": ({"s0": 1}, ["s0"])}})) == []
    assert columns(instance) >= 1


@pytest.mark.parametrize("made_of", [racks, switches])
def test_every_trial_is_a_bound(made_of):
    """Stopped after any round, what is held is certified, and no bound on the way is below the optimum."""
    for seed in range(4):
        instance = made_of(9000 + seed, servers=3, count=2, slots=2)
        best = brute_force_ring(instance)[0]
        network = Network(instance)
        found = Columns(network, relax(instance))
        heard = []
        found.search(better=lambda heard=heard, found=found: heard.append(found.best.bound))
        assert heard == sorted(heard, reverse=True)
        assert min(heard) == found.best.bound >= best * (1 - 1e-9)
        certificate = found.certificate()
        assert best * (1 - 1e-12) <= verify(instance, certificate) <= certificate.value
        if instance.paths is None:
            assert certificate.value <= found.best.bound + SOLVED * max(1.0, best)


def test_what_it_would_run_is_within_the_slots():
    """Worker-slots by job and epoch, of the last program: no more than the jobs can have."""
    for seed in range(6):
        instance = racks(9100 + seed, servers=4, count=3, slots=3)
        network = Network(instance)
        found = Columns(network, relax(instance))
        found.search()
        for index, record in enumerate(instance.jobs):
            held = sum(amount for (i, _), amount in found.by_epoch.items() if i == index)
            assert held <= network.most[index] * (instance.slots - record.arrival_slot + 1) + SOLVED


@pytest.mark.parametrize("limits", [Limits(time_s=0), Limits(time_s=1e-9)])
def test_no_time(limits):
    """No answer, and no bound that is not proven."""
    instance = racks(9200)
    result = solve(instance, method="columns", limits=limits)
    assert result.status is TerminationStatus.TIME_LIMIT
    assert result.solution is None
    assert result.bound is None or result.bound >= brute_force_ring(instance)[0] * (1 - 1e-9)


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_interrupted(after):
    """What was proven stays."""
    instance = made([2, 2], [("s0", "s1", 1.0)], job("a"), job("b", utility={"kind": "sqrt", "scale": 3.0}), slots=2)
    calls = []

    def progress(now):
        calls.append(now.bound)
        if len(calls) == after:
            raise KeyboardInterrupt

    result = solve(instance, method="columns", progress=progress)
    if len(calls) == after:
        assert result.status is TerminationStatus.INTERRUPTED
    assert result.bound >= brute_force_ring(instance)[0] * (1 - 1e-9)
    assert result.bound <= calls[0]
