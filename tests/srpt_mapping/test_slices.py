"""Jobs on slices of GPUs: by hand, the checker's rules, all methods against brute force, and forged answers."""

import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings

import dlsched
from dlsched import srpt_mapping
from dlsched.core.errors import InstanceError, UsageError
from dlsched.srpt_mapping import certificate
from dlsched.srpt_mapping.checker import check, infeasible
from dlsched.srpt_mapping.heuristics import POLICIES, fifo
from dlsched.srpt_mapping.slices import SLICE_RULES
from dlsched.srpt_mapping.solution import Schedule, Share, read_solution
from dlsched.testing import brute_force_srpt
from dlsched.testing.srpt_mapping import srpt_mapping_instances

A100 = "A100-40GB"


def made(servers, *jobs, **fields):
    """Servers as (GPUs, slicing); jobs a, b ... as (release, iterations, GPUs, share or profile); an iteration takes a second."""
    return srpt_mapping.Instance(
        name="made",
        intra_bandwidth_bytes_per_s=8.0,
        nic_bandwidth_bytes_per_s=4.0,
        servers=[{"id": f"s{n}", "gpus": gpus, "slicing": slicing} for n, (gpus, slicing) in enumerate(servers)],
        jobs=[job(name, *each) for name, each in zip("abcdefghijkl", jobs, strict=False)],
        **fields,
    )


def job(name, release, iterations, need):
    """A job on so many GPUs, or on a share of one below 1, or on a profile."""
    part = {"profile": need} if isinstance(need, str) else {"gpu_share": need} if need < 1 else {}
    stage = {"replicas": 1 if part else need, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}
    return {"id": name, "release_s": release, "iterations": iterations, "stages": [stage], **part}


def starts(schedule):
    """Starts in the order of the names."""
    return [start.start_s for _, start in sorted(schedule.jobs.items())]


def places(schedule):
    """Server, GPUs and slot of every job, in the order of the names."""
    return [(share.server, share.gpus, share.slot) for _, (_, (share, *_)) in sorted(schedule.jobs.items())]


def test_shares_of_one_gpu():
    """Half and a quarter run together; another half waits for the half that ends at 2 s; 4 + 2 + 5 = 11."""
    instance = made([(1, "shares")], (0, 4, 0.25), (0, 2, 0.5), (0, 3, 0.5))
    result = dlsched.solve(instance)
    assert (result.objective, str(result.status)) == (11.0, "optimal")
    assert starts(result.solution) == [0, 0, 2]


def test_a_slice_does_not_move():
    """Two GPUs hold two jobs of .6 and no third, though .8 of a GPU are free in all."""
    instance = made([(2, "shares")], (0, 5, 0.6), (0, 5, 0.6), (0, 1, 0.6))
    assert dlsched.solve(instance).objective == 1 + 5 + 6


def test_a_whole_job_needs_gpus_that_are_free_from_start_to_end():
    """At each time two of three GPUs are free, but each has a half at some time: a job of two GPUs for 3 s begins at 2 s."""
    instance = made([(3, "shares")], (0, 1, 0.5), (0, 2, 0.5), (0, 3, 2))
    named = {
        "a": (0.0, [Share(0, "s0", 1).on((0,))]),
        "b": (0.0, [Share(0, "s0", 1).on((1,))]),
        "c": (0.0, [Share(0, "s0", 2).on((1, 2))]),
    }
    assert [broken.rule for broken in check(instance, Schedule(named))] == ["share"]
    together = named | {"b": (0.0, [Share(0, "s0", 1).on((0,))])}
    assert check(instance, Schedule(together)) == []
    assert dlsched.solve(instance).objective == 1 + 2 + 3


def test_profiles_begin_at_some_slots_only():
    """1g.5gb at slot 0 leaves 4g.20gb no start (HAMi #2831): beside it elsewhere both run at once. 3g twice fill an A100."""
    both = made([(1, A100)], (0, 4, "1g.5gb"), (0, 4, "4g.20gb"))
    result = dlsched.solve(both)
    assert (result.objective, starts(result.solution)) == (8.0, [0, 0])
    assert result.solution.jobs["b"].placement[0].slot == 0 and result.solution.jobs["a"].placement[0].slot >= 4
    blocked = Schedule({"a": (0.0, [Share(0, "s0", 1).on((0,), 0)]), "b": (0.0, [Share(0, "s0", 1).on((0,), 0)])})
    assert {broken.rule for broken in check(both, blocked)} == {"profile"}
    three = made([(1, A100)], (0, 4, "3g.20gb"), (0, 4, "3g.20gb"), (0, 4, "1g.5gb"))
    assert dlsched.solve(three).objective == 4 + 4 + 8


@pytest.mark.parametrize(("rule", "gpu"), [("first-fit", 0), ("best-fit", 1), ("dot-product", 1), ("fgd", 2)])
def test_where_rules_place_a_share(rule, gpu):
    """A tenth finds .5, .4 and 1 free on GPUs 0, 1 and 2, and most jobs take .4.

    Fragments by class, weighted, in thousandths: of .5, .6, .1 and thrice .4 they are 400 + 900 + 0 + 0 before; on GPU 0
    800 + 800 + 0 + 0, on GPU 1 300 + 800 + 0 + 900, on GPU 2 as before: the least growth is there.
    """
    later = [(20, 1, 0.4)] * 3
    instance = made([(3, "shares")], (0, 9, 0.5), (0, 9, 0.6), (1, 1, 0.1), *later)
    found = places(fifo(instance, backfill=True, slices=rule))
    assert [gpus for _, gpus, _ in found[:3]] == [(0,), (1,), (gpu,)]


def test_dot_product_takes_the_server_with_the_least_free():
    """Half of a GPU is taken of s1: its other GPU is free, and s1 has less than s0, of two free GPUs."""
    instance = made([(2, "shares"), (2, "shares")], (0, 9, 1), (0, 9, 0.5), (1, 1, 0.6))
    schedule = fifo(instance, backfill=True, slices="dot-product")
    (server,) = {schedule.jobs["a"].placement[0].server}
    assert places(schedule)[1][0] == server and places(schedule)[2][0] != server


def test_profiles_in_the_drivers_order():
    """1g.5gb goes to slot 6 first, then 4, 5, 0; the guide's known issue: after 1g, 1g and 2g no 3g.20gb has a start."""
    ones = made([(1, A100)], *[(0, 9, "1g.5gb")] * 4)
    assert [slot for *_, slot in places(fifo(ones, backfill=True, slices="first-fit"))] == [6, 4, 5, 0]
    issue = made([(1, A100)], (0, 9, "1g.5gb"), (0, 9, "1g.5gb"), (0, 9, "2g.10gb"), (1, 1, "3g.20gb"))
    assert starts(fifo(issue, backfill=True, slices="first-fit")) == [0, 0, 0, 9]
    assert dlsched.solve(issue).objective == 9 * 3 + 2


@pytest.mark.parametrize(
    ("servers", "jobs", "message"),
    [
        ([(1, "thirds")], [(0, 1, 1)], "servers[0].slicing: found 'thirds', allowed: none, shares"),
        ([(1, "shares")], [(0, 1, 0.12345)], "jobs[0].gpu_share: found 0.12345, allowed: whole thousandths of a GPU"),
        ([(1, "shares")], [(0, 1, "1g.5gb")], "jobs[0].profile: found '1g.5gb', allowed: a profile of some server"),
    ],
)
def test_what_is_refused(servers, jobs, message):
    """The field is named."""
    with pytest.raises(InstanceError) as caught:
        made(servers, *jobs)
    assert message in str(caught.value)


def test_slices_are_of_one_gpu():
    """Not of a job with several replicas, and not both a share and a profile."""
    several = job("a", 0, 1, 0.5)
    several["stages"][0]["replicas"] = 2
    base = {"name": "x", "intra_bandwidth_bytes_per_s": 1.0, "nic_bandwidth_bytes_per_s": 1.0}
    servers = [{"id": "s", "gpus": 2, "slicing": "shares"}]
    with pytest.raises(InstanceError, match="a job of one stage and one replica"):
        srpt_mapping.Instance(**base, servers=servers, jobs=[several])
    with pytest.raises(InstanceError, match="a share or a profile, not both"):
        srpt_mapping.Instance(**base, servers=servers, jobs=[job("a", 0, 1, 0.5) | {"profile": "1g.5gb"}])
    own = {"slots": 2, "profiles": [{"id": "p", "size": 2, "starts": [1]}]}
    with pytest.raises(InstanceError, match="slots up to 2, allowed: 0 to 1"):
        srpt_mapping.Instance(**base, servers=[{"id": "s", "gpus": 2, "slicing": own}], jobs=[job("a", 0, 1, 1)])


def test_what_no_server_has_is_infeasible():
    """Proven by counting, with a sentence."""
    instance = made([(4, "none")], (0, 1, 0.5))
    assert "and no server that it may use has such slices" in (infeasible(instance) or "")
    assert str(dlsched.solve(instance).status) == "infeasible"
    assert brute_force_srpt(instance) is None


def test_rules_of_slices_are_for_jobs_on_slices():
    """Named, they refuse others; unnamed, a comparison has no rows of them."""
    whole = srpt_mapping.example()
    with pytest.raises(UsageError, match="none on a slice of a GPU"):
        dlsched.solve(whole, method="fgd")
    assert not {row.method for row in dlsched.compare([whole], time_limit=5).rows} & set(SLICE_RULES)
    shared = made([(1, "shares")], (0, 4, 0.25), (0, 2, 0.5))
    assert set(SLICE_RULES) <= {row.method for row in dlsched.compare([shared], time_limit=5).rows}


WRONG = [
    ("share", Share(0, "s0", 1)),
    ("share", Share(0, "s0", 1).on((2,))),
    ("share", Share(0, "s0", 1).on((-1,))),
    ("share", Share(0, "s0", 1).on((0, 1))),
    ("share", Share(0, "s0", 1).on((0,), 0)),
    ("share", Share(0, "s1", 1).on((0,), 0)),
    ("share", Share(0, "s2", 1)),
]


@pytest.mark.parametrize(("rule", "share"), WRONG)
def test_wrong_places_of_a_share(rule, share):
    """GPUs unnamed, that are not there, too many, a slot; servers of slots, and of whole GPUs."""
    instance = made([(2, "shares"), (1, A100), (1, "none")], (0, 1, 0.5))
    assert [broken.rule for broken in check(instance, Schedule({"a": (0.0, [share])}))] == [rule]


@pytest.mark.parametrize("slot", [None, 1, 3, 5, 7, "0"])
def test_wrong_slots(slot):
    """2g.10gb begins at 0, 2 and 4."""
    instance = made([(1, A100)], (0, 1, "2g.10gb"))
    wrong = Schedule({"a": (0.0, [Share(0, "s0", 1).on((0,), slot)])})
    assert [broken.rule for broken in check(instance, wrong)] == ["profile"]


def test_files(tmp_path):
    """Instance and result are read as they were written, one GPU as ``gpu``, several as ``gpus``."""
    instance = made([(3, "shares"), (1, A100)], (0, 4, 0.25), (0, 2, "3g.20gb"), (1, 2, 2))
    path = tmp_path / "instance.json"
    dlsched.write(instance, path)
    again = dlsched.read(path)
    assert again == instance and again.sha256 == instance.sha256
    result = dlsched.solve(instance)
    data = json.loads(json.dumps(result.solution.as_data()))
    assert read_solution(data, instance) == result.solution
    shares = {name: start["placement"][0] for name, start in data["jobs"].items()}
    assert set(shares["a"]) == {"stage", "server", "replicas", "gpu"}
    assert set(shares["b"]) == {"stage", "server", "replicas", "gpu", "slot"}
    assert set(shares["c"]) == {"stage", "server", "replicas", "gpus"}


def test_whole_jobs_are_as_before():
    """Where no job takes a slice, servers with slices are servers: the same answers, without GPUs."""
    plain = made([(2, "none"), (2, "none")], (0, 4, 1), (0, 2, 3), (1, 5, 2))
    cut = made([(2, "shares"), (2, A100)], (0, 4, 1), (0, 2, 3), (1, 5, 2))
    for method in ("exact", "intervals", "fifo", "easy", "plan"):
        ours, theirs = (dlsched.solve(each, method=method, seed=1) for each in (cut, plain))
        assert ours.solution == theirs.solution and ours.objective == theirs.objective


def held_to_brute_force(instance):
    """All methods and bounds against the optimum of brute force."""
    try:
        best = brute_force_srpt(instance)
    except ValueError:
        return
    assert (best is None) == (infeasible(instance) is not None)
    if best is None:
        return
    optimum = best[0]
    result = dlsched.solve(instance)
    assert str(result.status) == "optimal" and result.objective == pytest.approx(optimum, rel=1e-9)
    assert check(instance, result.solution) == []
    for policy in POLICIES.values():
        schedule = policy(instance)
        assert check(instance, schedule) == []
        assert srpt_mapping.objective(instance, schedule) >= optimum * (1 - 1e-9)
    for rule in SLICE_RULES:
        assert check(instance, fifo(instance, backfill=True, slices=rule)) == []
    for name in ("combined", "prices", "packing"):
        proven = getattr(srpt_mapping, name)(instance)
        assert proven.value <= optimum * (1 + 1e-9)
        assert certificate.verify(instance, proven) >= Fraction(proven.value)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True, begun=True))
def test_all_methods_against_brute_force(instance):
    """Shares, slots, whole GPUs, pools, groups and consolidated placement, with communication."""
    held_to_brute_force(instance)


@pytest.mark.long
@settings(max_examples=3000, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True, begun=True))
def test_all_methods_against_brute_force_at_length(instance):
    """The same, 3,000 of them."""
    held_to_brute_force(instance)


def fits(instance, schedule):
    """Whether a schedule keeps all rules, by looking at each GPU in each half second; all times are whole."""
    taken = {}
    for each in instance.jobs:
        start, placement = schedule.jobs[each.id]
        if start < each.release_s or sum(share.replicas for share in placement) != each.gpus:
            return False
        seen = set()
        for share in placement:
            server = instance.servers[int(share.server[1:])]
            if server.slicing == "none":
                if share.gpus or share.slot is not None or each.slice is not None:
                    return False
                cells = [((share.server,), Fraction(share.replicas, server.gpus))]
            else:
                if len(share.gpus) != share.replicas or any(not 0 <= gpu < server.gpus for gpu in share.gpus):
                    return False
                if len({*share.gpus} - seen) < len(share.gpus):
                    return False
                seen |= {*share.gpus}
                if server.slicing == "shares":
                    if each.profile is not None or share.slot is not None:
                        return False
                    part = Fraction(str(each.gpu_share))
                    cells = [((share.server, gpu), part) for gpu in share.gpus]
                else:
                    if each.gpu_share < 1 or (each.profile is None) != (share.slot is None):
                        return False
                    size, starts_at = 8, (0,)
                    if each.profile is not None:
                        size, starts_at = server.geometry.profiles[each.profile]
                    if (share.slot or 0) not in starts_at:
                        return False
                    slots = range(share.slot or 0, (share.slot or 0) + size)
                    cells = [((share.server, gpu, slot), 1) for gpu in share.gpus for slot in slots]
            for half in range(round(2 * start), round(2 * (start + each.iterations))):
                for cell, part in cells:
                    taken[cell, half] = taken.get((cell, half), 0) + part
    return all(part <= 1 for part in taken.values())


def forged(draw, instance, schedule):
    """A schedule with a few starts, GPUs and slots changed."""
    jobs = {}
    for name, (start, placement) in schedule.jobs.items():
        shares = []
        for share in placement:
            gpus, slot = share.gpus, share.slot
            if draw.random() < 0.3 and gpus:
                gpus = tuple(draw.randrange(-1, 4) for _ in gpus)
            if draw.random() < 0.2:
                slot = draw.choice([None, *range(8)])
            server = draw.choice([f"s{n}" for n in range(3)]) if draw.random() < 0.1 else share.server
            shares.append(Share(share.stage, server, share.replicas).on(gpus, slot))
        jobs[name] = (start + draw.choice([0, 0, 0, -1, 1, -0.5]), shares)
    return Schedule(jobs)


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_forged_answers(count):
    """What the checker accepts fits by a look at each half second, and it refuses nothing that fits."""
    draw = random.Random(5)
    refused = 0
    for _ in range(count):
        needs = [0.25, 0.5, 0.7, 1, 2, "1g.5gb", "3g.20gb", "2g.10gb"]
        jobs = [(draw.randrange(3), draw.randrange(1, 4), draw.choice(needs)) for _ in range(5)]
        instance = made([(2, "shares"), (2, A100), (2, "none")], *jobs)
        schedule = forged(draw, instance, POLICIES["fifo-backfill"](instance))
        broken = check(instance, schedule)
        assert (not broken) == fits(instance, schedule), (instance, schedule, broken)
        refused += bool(broken)
    assert count / 2 < refused < count


@pytest.mark.parametrize("preset", ["shared", "openb", "mig"])
def test_presets(preset):
    """Each has jobs on slices, and its cluster holds all of its jobs."""
    instance = dlsched.generate("srpt_mapping", preset=preset, jobs=30, gpus=16, seed=3)
    assert instance.sliced and infeasible(instance) is None
    assert any(each.slice is None for each in instance.jobs)
    assert check(instance, POLICIES["work-compact"](instance)) == []


def test_errors_of_slicing_name_the_field():
    """Whether it is a name or slots; and how many GPUs may be looked at one by one."""
    base = {"name": "x", "intra_bandwidth_bytes_per_s": 1.0, "nic_bandwidth_bytes_per_s": 1.0}
    with pytest.raises(InstanceError) as caught:
        servers = [{"id": "s", "gpus": 1, "slicing": 7}]
        srpt_mapping.Instance(**base, servers=servers, jobs=[job("a", 0, 1, 1)])
    assert str(caught.value) == "servers[0].slicing: found 7, allowed: an object"
    with pytest.raises(InstanceError, match="GPUs and slots, and slices, allowed: at most 1,000,000"):
        made([(2**53, "shares")], (0, 1, 0.5))


def test_a_figure_shows_single_gpus(tmp_path):
    """A lane for each GPU of a server with slices, one for a server without."""
    pytest.importorskip("matplotlib")
    instance = made([(2, "shares"), (1, A100), (2, "none")], (0, 4, 0.25), (0, 2, "3g.20gb"), (1, 2, 2))
    path = srpt_mapping.draw(instance, [("exact", dlsched.solve(instance).solution)], tmp_path / "gangs.svg", 6.0)
    shown = path.read_text(encoding="utf-8")
    assert all(name in shown for name in ("s0/0", "s0/1", "s1/0", "5 GPUs"))
