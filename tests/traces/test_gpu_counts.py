"""Parts of GPUs: what profiles name, what is left out and counted, what slices occupy, and what whole GPUs for them mean."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

from dlsched import async_sgd, matching_placement, ring_allocation
from dlsched.advice import decide, standing
from dlsched.core.errors import InputError, UsageError
from dlsched.traces import import_made, read_queue
from dlsched.traces.gpu_counts import gpus_of_cluster, most_held, packed, part_of
from dlsched.traces.makers.async_sgd import async_of
from dlsched.traces.makers.matching_placement import placement_of
from dlsched.traces.makers.ring_allocation import allocation_of
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import QueuedJob, QueueNode, Window
from dlsched.traces.slicing import treated
from dlsched.traces.snapshot import snapshot
from tests.traces.drawn import job, queue

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "openb" / "openb_pod_list_default.csv"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *((name, Fraction(1, 7)) for name in ("1g.5gb", "nvidia.com/mig-1g.5gb.me", "1g.10gb+me", "a300_1g.5gb")),
        *(("a100_2g.10gb", Fraction(2, 7)), ("nvidia_a100_3g.39gb", Fraction(3, 7))),
        *(("NVIDIA_H100_80GB_HBM3_4g.40gb", Fraction(4, 7)), ("nvidia.com/mig-2g.12gb", Fraction(1, 2))),
        *(("1g.6gb", Fraction(1, 4)), ("a30_1g.5gb", Fraction(1, 4))),
        *((whole, 1) for whole in ("7g.40gb", "4g.24gb", "a100", "tesla_v100_sxm2_32gb", "")),
    ],
)
def test_profiles(name: str, part: Fraction) -> None:
    """N of 7, on an A30 N of 4; what is no profile is whole."""
    assert part_of(name) == part


def test_slices_are_packed_on_as_few_gpus_as_orders_of_first_fit_need() -> None:
    """No order of the slices, tried one by one, first fit, needs fewer; each GPU holds at most one."""
    for sevenths in ([1] * 7, [4, 3, 3, 2, 2], [3, 3, 1, 4, 4], [2, 2, 2, 2], [7, 1], [3, 3, 3, 3, 2, 2, 2, 2]):
        gpus = packed([each / 7 for each in sevenths])
        assert sorted(index for gpu in gpus for index in gpu) == list(range(len(sevenths)))
        assert all(sum(sevenths[index] for index in gpu) <= 7 for gpu in gpus)
        assert len(gpus) == min(_first_fit(order) for order in set(permutations(sevenths)))


def _first_fit(sevenths: tuple[int, ...]) -> int:
    rooms: list[int] = []
    for each in sevenths:
        place = next((place for place, room in enumerate(rooms) if room >= each), None)
        if place is None:
            rooms.append(7 - each)
        else:
            rooms[place] -= each
    return len(rooms)


SEVENTH = 1 / 7
MIXED = queue(
    job("whole", 0.0, 0.0, 100.0, 2),
    job("after", 10.0, 100.0, 50.0, 2),
    *(job(f"slice{index}", 0.0, 0.0, 60.0, 1, share=SEVENTH) for index in range(14)),
)


def test_slices_are_left_out_and_count_by_their_part() -> None:
    """By hand: 14 sevenths for 60 s are 120 GPU-seconds of 4 x 100, to the start of ``after``."""
    left = treated(MIXED)
    assert [each.id for each in left.jobs] == ["whole", "after"] and len(left.slices) == 14
    assert left.audit[-1] == "Jobs on parts of GPUs (slices), left out, their GPU time counted by their part: 14."
    made = gangs_of(left, gpus=4)
    assert made.outside == (pytest.approx(120.0), 400.0)
    assert made.slices == {f"slice{index}" for index in range(14)} and made.happened is not None
    assert any("used 30.0 % of its GPU time" in each for each in made.audit)


def test_whole_gpus_for_slices() -> None:
    """Each of the 14 takes one of 4 GPUs, what happened is not possible so, and both are said."""
    whole = treated(MIXED, "whole")
    assert whole == MIXED
    made = gangs_of(whole, gpus=4)
    assert len(made.jobs) == 16 and made.slices == frozenset() and made.happened is None
    assert "Jobs on parts of GPUs (slices), with a whole GPU for each part: 14." in made.audit
    assert made.audit[-1].endswith("5 GPUs were in use, with one for every part of a GPU, the cluster has 4.")


def test_the_cluster_has_room_for_slices_by_their_part() -> None:
    """2 whole GPUs and 14 sevenths at once are 4; on servers of 2 no GPU is added."""
    assert most_held(treated(MIXED).jobs, treated(MIXED).slices) == 4
    assert any("The cluster is given 4 GPUs" in each for each in gangs_of(treated(MIXED), gpus_of_node=2).audit)
    assert gpus_of_cluster(treated(MIXED), 5, None)[0] == 5


def test_windows_count_the_slices_that_are_there() -> None:
    """One that came before the start and runs then; not one that has ended."""
    source = treated(
        queue(
            job("a", 50.0, 50.0, 10.0, 1),
            job("early", 0.0, 0.0, 45.0, 1, share=0.5),
            job("gone", 0.0, 0.0, 5.0, 1, share=0.5),
            job("within", 41.0, 41.0, 5.0, 1, share=0.5),
            job("late", 90.0, 90.0, 5.0, 1, share=0.5),
        )
    )
    assert gangs_of(source, window=Window(40.0, 80.0), carried=True).slices == {"early", "within"}
    assert gangs_of(source, window=Window(40.0, 80.0)).slices == {"within"}


def test_only_slices() -> None:
    """Nothing is left: the error says what would do."""
    with pytest.raises(InputError, match=r"found 2 jobs, all on parts of GPUs, allowed: .*, or slices whole"):
        treated(queue(*MIXED.jobs[2:4]))


def test_every_source_takes_the_option(tmp_path: Path) -> None:
    """Through the reading of files, with what was found where it is another word."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,s,d,n\n0,0,10,0.5\n0,0,10,1\n")
    mapping = {"columns": "arrival=t,start=s,duration=d,gpus=n"}
    found = read_queue("csv", str(path), **mapping)
    assert (len(found.jobs), len(found.slices)) == (1, 1)
    assert len(read_queue("csv", str(path), slices="whole", **mapping).jobs) == 2
    assert len(import_made("csv", str(path), slices="whole", **mapping).jobs) == 2
    with pytest.raises(UsageError, match="slices: found 'part', allowed: leave-out, whole, parts"):
        read_queue("csv", str(path), slices="part", **mapping)


def runs(name: str, gpus: int, share: float, left_s: float, *nodes: str) -> QueuedJob:
    return job(name, 0.0, 40.0, None, gpus, share=share, limit_s=60.0 + left_s, nodes=nodes, state="RUNNING")


def waits(name: str, gpus: int, share: float = 1.0) -> QueuedJob:
    return job(name, 90.0, None, None, gpus, share=share, limit_s=30.0, state="PENDING")


ALL = queue(
    *(runs("w", 2, 1.0, 500.0, "n1"), runs("x", 2, 3 / 7, 20.0, "n1", "n2"), runs("y", 1, 4 / 7, 50.0, "n1")),
    *(runs("z", 1, 1 / 7, 70.0, "n2"), runs("v", 1, 0.9, 30.0), waits("p", 1, 0.5), waits("a", 3), waits("b", 2)),
    nodes=(QueueNode("n1", 4), QueueNode("n2", 4)),
)
HELD = treated(replace(ALL, latest_s=100.0))


def test_slices_occupy_the_gpus_they_lie_on() -> None:
    """By hand: on n1 4/7 and 3/7 share a GPU until 50 s, on n2 3/7 and 1/7 one until 70 s; .9 of no node has one on n2.

    Of eight GPUs two are w's and three the slices': n1 has one free, n2 two. a of three starts on both, b waits for .9 and
    the GPU of n1.
    """
    found = snapshot(HELD, 100.0)
    assert [(each.job.nodes, each.left_s) for each in found.outside] == [(("n1",), 50.0), (("n2",), 70.0), ((), 30.0)]
    assert standing(HELD, found, 8, 4).free == {"n1": 1, "n2": 2}
    advice = decide(HELD, method="fifo", at_s=100.0)
    assert (advice.gpus, advice.free) == (8, 3)
    decided = [(each.job, each.action, each.time_s) for each in advice.actions]
    assert decided == [("w", "keep", 100.0), ("a", "start", 100.0), ("b", "wait", 130.0)]
    said = (
        "GPUs of jobs left out on nodes that are not listed or have no such room, assumed to stand on the emptiest: 1."
    )
    assert said in advice.audit
    assert any("GPUs on which jobs on parts of GPUs run" in each and each.endswith("ends: 3.") for each in advice.audit)


@pytest.mark.parametrize("family", ["ring_allocation", "elastic_stream"])
def test_counts_beside_slices(family: str) -> None:
    """Three GPUs are free, and two must wait where three start."""
    advice = decide(HELD, family=family, at_s=100.0, scaling="own")
    given = {each.job: each.gpus for each in advice.actions if each.action in ("start", "keep")}
    assert sum(given.values()) <= 5 and given["w"] == 2 and given.keys() & {"a", "b"}


def test_instances_of_a_moment_are_without_the_gpus_of_slices() -> None:
    """Five of eight are left, and of them those of each node that no slice lies on."""
    allocation, workers, nodes = (make(HELD, at="100").instance for make in (allocation_of, placement_of, async_of))
    assert isinstance(allocation, ring_allocation.Instance) and allocation.gpus == 5
    assert isinstance(workers, matching_placement.Instance) and isinstance(nodes, async_sgd.Instance)
    assert [each.id for each in workers.workers] == ["n1/0", "n1/1", "n2/0", "n2/1", "n2/2"]
    assert nodes.nodes == 5
    with pytest.raises(UsageError, match="gpus: found 4, allowed: at least 5"):
        allocation_of(HELD, at="100", gpus=4, pinned=True, scaling="own")


@pytest.mark.skipif(not DATA.is_file(), reason="the raw data are not here")
def test_the_slices_of_openb() -> None:
    """Of 6,171 jobs 2,562 are on a part of a GPU."""
    found = read_queue("openb", str(DATA))
    assert (len(found.jobs), len(found.slices)) == (6171 - 2562, 2562)
    assert len(read_queue("openb", str(DATA), slices="whole").jobs) == 6171
