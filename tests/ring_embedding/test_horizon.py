"""Bounds over the horizon, without and with rings: by hand, above the optimum, in their order, and at every stop."""

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched import ring_embedding
from dlsched.algorithms.utility_tables import power_of_two
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import solve
from dlsched.ring_embedding.bounds import Columns
from dlsched.ring_embedding.certificate import verify
from dlsched.ring_embedding.relaxation import aggregated, build_totals, horizon, relax
from dlsched.ring_embedding.rings.network import Network
from dlsched.solvers.milp import solve_milp
from dlsched.testing.ring_embedding import brute_force_ring, ring_embedding_instances

from .small_networks import Asked, charged, racks, switches
from .test_brute_force import TRIANGLE, job, made

CHARGED = ring_embedding_instances(objectives="sum").filter(lambda instance: instance.charges)
LOOSE = 1e-8  # relative: capacities count with a little more than the checker's tolerance
SOLVED = 1e-6


def capped(slope, cap):
    """Worth ``slope`` a worker-slot up to ``cap``."""
    return {"kind": "capped", "slope": slope, "cap": cap}


STEEP = {"kind": "sigmoid", "height": 1.0, "steepness": 1000.0, "midpoint": 1.5}
"""0 up to one worker-slot, 1 from two on."""


def by_totals(instance):
    """The bound of S-shaped totals, by SCIP."""
    program = relax(instance).program
    outcome = solve_milp(build_totals(program), solver="scip", isolated=False)
    assert outcome.status is TerminationStatus.OPTIMAL
    return sum(float(worth.values[0]) for worth in program.tables) + outcome.bound * program.unit


def utilities(instance):
    """Of all jobs together, up to the next power of two each: what a total is the difference of where energy has a price."""
    return sum(power_of_two(table.most) for table in relax(instance).program.tables)


def let_pass(instance):
    """What SCIP's tolerance may add to that bound, by duality: as much as it breaks a row or a bound by, times its price.

    That is 1e-6 of the right-hand side, or of 1. A theta's rows cost its unit together, and are of at most 1. Bounds of w, on
    and z are of at least 1; with their prices they are at most what is gained.
    """
    relaxed = relax(instance)
    program, right = relaxed.program, np.array(relaxed.program.rows.right)
    rows = program.duals[: len(right)] @ np.maximum(1.0, right)
    gained = relaxed.certificate.value - sum(table.nothing for table in program.tables)
    return SOLVED * (rows + utilities(instance) + gained)


def test_two_jobs_by_hand():
    """Two GPUs, two slots: a is worth 3 for two worker-slots, b takes the other two; both bounds are the optimum."""
    instance = made([2], [], job("a", workers=2, utility=capped(3.0, 6.0)), job("b", workers=2), slots=2)
    assert brute_force_ring(instance)[0] == 8
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(8, rel=LOOSE)


def test_late_jobs_by_hand():
    """A and b come in slot 2 and meet there, 6; c is worth 1/2 in slot 1. As one pool there is room for all: 6 + 2."""
    late = [job("a", workers=2, arrival_slot=2, utility=capped(3.0, 9.0)), job("b", workers=2, arrival_slot=2)]
    instance = made([2], [], *late, job("c", workers=1, utility=capped(0.5, 0.5)), slots=2)
    assert aggregated(instance).value == pytest.approx(8, rel=LOOSE)
    assert horizon(instance).value == pytest.approx(6.5, rel=LOOSE)
    assert brute_force_ring(instance)[0] == 6.5
    relaxed = relax(instance)
    assert relaxed.totals == pytest.approx([2, 0, 1], abs=1e-6)
    assert relaxed.by_epoch == pytest.approx({(0, 1): 2, (1, 1): 0, (2, 0): 1, (2, 1): 0}, abs=1e-6)


def test_slots_before_the_first_arrival_do_not_count():
    """Three of five slots: nobody is there."""
    instance = made([1], [], job(arrival_slot=4), slots=5)
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(2, rel=LOOSE)


def test_the_scarcest_resource_by_hand():
    """A disk for one worker a slot, GPUs for four."""
    instance = made([4], [], job(workers=4, demand={"gpu": 1.0, "disk": 1.0}), slots=3)
    data = instance.model_dump()
    data["nodes"][0]["capacity"] = {"gpu": 4.0, "disk": 1.5}
    instance = type(instance)(**data)
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(3, rel=LOOSE)


def test_classes_by_hand():
    """A worker of two GPUs fits on the large server only: two of them, and a ring of three of what is left."""
    links = [("s0", "s1", 9.0), ("s1", "s2", 9.0)]
    first = job("a", workers=3, demand={"gpu": 2.0}, utility=capped(5.0, 99.0))
    instance = made([5, 1, 1], links, first, job("b", workers=4))
    assert horizon(instance).value == pytest.approx(10 + 3, rel=LOOSE)
    assert brute_force_ring(instance)[0] == 13


def test_envelopes_and_totals_by_hand():
    """Two S-shaped jobs on one GPU in three slots: by the envelopes half of the second, by totals one alone."""
    instance = made([1], [], job("a", utility=STEEP), job("b", utility=STEEP), slots=3)
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(1.5, rel=LOOSE)
    assert by_totals(instance) == pytest.approx(1, rel=SOLVED)
    assert brute_force_ring(instance)[0] == pytest.approx(1, rel=1e-12)


def test_links_too_narrow_by_hand():
    """Three servers of a GPU in a row: a's ring fits through the first link only, b's through none, beyond the tolerance."""
    links = [("s0", "s1", 1.0), ("s1", "s2", 0.5)]
    instance = made([1, 1, 1], links, job("a"), job("b", load=1.0 + 1e-8), slots=2)
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(2 * (2 + 1), rel=LOOSE)
    within = made([1, 1, 1], links, job("a"), job("b", load=1.0 + 0.9e-9), slots=2)
    for bound in (aggregated, horizon):
        assert bound(within).value == pytest.approx(2 * 3, rel=LOOSE)
    assert brute_force_ring(within)[0] == 6
    alone = made([1, 1, 1], links, job("b", load=1.0 + 0.9e-9), slots=2)
    assert horizon(alone).value == pytest.approx(4, rel=LOOSE)


def test_nothing_can_run():
    """The utility of nothing, by every bound."""
    sigmoid = {"kind": "sigmoid", "height": 4.0, "steepness": 1.0, "midpoint": 0.0}
    instance = made([1], [], job("a", demand={"gpu": 2.0}, utility=sigmoid), job("b", budget={"gpu": 0.5}), slots=2)
    for bound in (aggregated, horizon):
        assert bound(instance).value == pytest.approx(2, rel=LOOSE)
    assert by_totals(instance) == pytest.approx(2, rel=SOLVED)


def in_order(instance):
    """By one pool >= by epoch >= with rings >= the optimum; what certificates claim is what they prove."""
    best = brute_force_ring(instance)[0]
    pool, by_epoch, rings = aggregated(instance), horizon(instance), solve(instance, method="columns")
    for certificate in (pool, by_epoch, rings.certificate):
        assert certificate.value == pytest.approx(float(verify(instance, certificate)), rel=1e-15)
        assert certificate.value >= verify(instance, certificate) >= best - 1e-12 * abs(best)
    slack = SOLVED * max(1.0, pool.value)
    assert pool.value + 2 * slack >= by_epoch.value + slack >= rings.bound >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("drawn", [ring_embedding_instances(), CHARGED])
def test_bounds_are_in_order(drawn):
    """Above brute force, whether energy has a price or not."""
    profile(15)(given(drawn)(in_order))()


@pytest.mark.long
def test_three_hundred_bounds():
    """The same of many where energy has a price."""
    profile(300)(given(CHARGED)(in_order))()


@pytest.mark.parametrize("objectives", ["plain", "sum"])
def test_totals_are_between(objectives):
    """At least the optimum, at most the bound of the envelopes but for what SCIP lets pass."""

    @profile(8)
    @given(ring_embedding_instances(concave=False, objectives=objectives))
    def between(instance):
        best, found = brute_force_ring(instance)[0], by_totals(instance)
        assert found >= best - 1e-9 * utilities(instance)
        assert found <= horizon(instance).value + let_pass(instance)

    between()


@profile(10)
@given(ring_embedding_instances())
def test_the_relaxation_keeps_its_rows(instance):
    """Worker-slots by epoch add up to the totals, within what slots, workers and budgets allow."""
    relaxed = relax(instance)
    for index, record in enumerate(instance.jobs):
        held = sum(amount for (i, _), amount in relaxed.by_epoch.items() if i == index)
        assert relaxed.totals[index] <= held + 1e-5
        assert held <= record.max_workers * (instance.slots - record.arrival_slot + 1) * (1 + 1e-6)
        for name, budget in record.budget.items():
            assert relaxed.totals[index] * record.demand.get(name, 0.0) <= budget + 1e-5 * max(1.0, budget)


def more(instance, change):
    """The instance with more slots, one more server, or wider links."""
    if change == "slots":
        return instance.model_copy(update={"slots": instance.slots + 1})
    if change == "servers":
        servers = [*instance.nodes, {"id": "another", "capacity": dict(instance.servers[0].capacity)}]
        return instance.model_copy(update={"nodes": servers})
    links = [{"ends": link.ends, "bandwidth_bytes_per_s": link.bandwidth_bytes_per_s * 2} for link in instance.links]
    return instance.model_copy(update={"links": links})


@profile(12)
@given(ring_embedding_instances())
def test_more_never_lowers_a_bound(instance):
    """More slots, another server or wider links raise them or nothing."""
    for bound in (aggregated, horizon):
        before = bound(instance).value
        for change in ("slots", "servers", "links"):
            assert bound(more(instance, change)).value >= before - SOLVED * max(1.0, before), (bound, change)


def test_ticks_may_stop_a_bound():
    """What they raise passes through."""
    instance = made([2], [], job(), slots=2)

    class StopError(Exception):
        pass

    def stop():
        raise StopError

    for bound in (aggregated, horizon):
        with pytest.raises(StopError):
            bound(instance, Asked(stop))


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


@pytest.mark.parametrize("with_energy", [False, True])
@pytest.mark.parametrize("made_of", [racks, switches])
def test_every_trial_is_a_bound(made_of, with_energy):
    """Stopped after any round, what is held is certified, and no bound on the way is below the optimum."""
    for seed in range(4):
        instance = made_of(9000 + 300 * with_energy + seed, servers=3, count=2, slots=2)
        if with_energy:
            instance = charged(instance, np.random.default_rng(seed).integers(0, 5, size=3) / 2, 0.25)
        best = brute_force_ring(instance)[0]
        found, heard = Columns(Network(instance), relax(instance)), []
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
