"""Jobs on parts of GPUs: what becomes of them, which slices they take and on which GPUs, worked out by hand."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from dlsched import srpt_mapping
from dlsched.advice import decide
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping import Schedule, check
from dlsched.srpt_mapping.instance import Server
from dlsched.traces import import_instance, import_made, read_queue
from dlsched.traces.gpu_counts import profile_in
from dlsched.traces.instances import instance_from
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import QueuedJob, QueueNode, Window
from dlsched.traces.selection import ImportedInstance
from dlsched.traces.slicing import cut, treated
from tests.traces.drawn import job, queue

Place = tuple[str, tuple[int, ...], int | None]
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"


def placed(made: ImportedInstance) -> Mapping[str, Place]:
    """Server, GPUs and slot of every job of what happened, which the checker takes."""
    assert isinstance(made.happened, Schedule) and isinstance(made.instance, srpt_mapping.Instance)
    assert check(made.instance, made.happened) == []
    first = {name: start.placement[0] for name, start in made.happened.jobs.items()}
    return {name: (share.server, share.gpus, share.slot) for name, share in first.items()}


def sliced(name: str, kind: str | float, **more: object) -> QueuedJob:
    """A job of 10 s at 0 on a profile or a share."""
    own = {"share": kind} if isinstance(kind, float) else {"share": 1 / 7, "gpu_type": kind}
    return job(name, 0.0, 0.0, 10.0, 1)._replace(**own | more)


def test_profiles_are_read_of_types_and_resources() -> None:
    """As Slurm, NVIDIA's device plugin and NVML write them, with media engines or without."""
    names = ("a100_1g.5gb", "nvidia.com/mig-1g.10gb.me", "nvidia_h100_3g.40gb", "2g.20gb+me", "a100", "11g.5gb", "")
    assert list(map(profile_in, names)) == ["1g.5gb", "1g.10gb+me", "3g.40gb", "2g.20gb+me", "", "", ""]


def test_what_becomes_of_parts() -> None:
    """A profile, one with media engines, a third of a GPU, which is 334 thousandths; two slices and an unknown profile do not."""
    source = queue(
        *(job("w", 0.0, 0.0, 10.0, 2), sliced("p", "a100_1g.5gb"), sliced("m", "1g.10gb+me"), sliced("s", 1 / 3)),
        *(sliced("t", "a100_1g.5gb", gpus=2), sliced("u", "1g.99gb")),
    )
    made = treated(source, "parts")
    assert [(each.id, each.profile, each.share) for each in made.jobs if each.share < 1] == [
        *(("p", "1g.5gb", 1 / 7), ("m", "1g.10gb", 1 / 7), ("s", "", 0.334))
    ]
    assert [each.id for each in made.slices] == ["t", "u"] and made.sliced
    assert made.audit[1:] == (
        "Jobs on several parts of GPUs, which no job of the family can have: 1.",
        "Jobs on MIG profiles whose slots are not known: 1.",
        "Jobs on MIG profiles with media engines (+me), treated as those without: 1.",
        "Jobs whose part of a GPU is no whole thousandth, rounded up to one: 1.",
        "Jobs on parts of GPUs (slices), left out, their GPU time counted by their part: 2.",
    )
    assert treated(source, "whole") is source and len(treated(source).jobs) == 1
    assert treated(source, None, "srpt_mapping") == made and treated(source, None, "elastic_stream") == treated(source)
    with pytest.raises(InputError, match="all on parts of GPUs"):
        treated(queue(*source.jobs[4:]), "parts")


def test_families_without_parts_refuse_them() -> None:
    """In words, and so does one decision."""
    parted = treated(queue(sliced("a", 0.5)), "parts")
    with pytest.raises(UsageError, match="slices: found parts with elastic_stream, allowed: leave-out or whole"):
        instance_from(parted, "elastic_stream")
    with pytest.raises(UsageError, match="slices: found parts, allowed: leave-out or whole for one decision"):
        decide(parted)


@pytest.mark.parametrize(
    ("kinds", "types", "expected"),
    [
        (("1g.5gb",), (), ["A100-40GB"] * 3),
        # 1g.10gb takes two slots of an A100 of 40 GB, one of one with 80 GB
        (("1g.10gb",), (), ["A100-80GB"] * 3),
        (("1g.10gb", "1g.5gb"), (), ["A100-40GB"] * 3),
        (("h100_1g.10gb",), (), ["H100-80GB"] * 3),
        # no such profile is known of the model, so others are asked
        (("h100_1g.5gb",), (), ["A100-40GB"] * 3),
        # a kind a GPU, and the third for the first
        (("1g.5gb", 0.5), (), ["shares", "A100-40GB", "shares"]),
        (("1g.5gb", "a30_1g.6gb"), ("tesla_a30", "", "v100"), ["A30-24GB", "A100-40GB", "none"]),
        ((0.5,), ("v100", "", ""), ["shares"] * 3),
    ],
)
def test_servers_are_cut_as_jobs_need_it(
    kinds: tuple[str | float, ...], types: tuple[str, ...], expected: list[str]
) -> None:
    """By the profiles alone, by models, and by what each kind needs."""
    jobs = treated(queue(*(sliced(str(index), kind) for index, kind in enumerate(kinds))), "parts").jobs
    nodes = [QueueNode(f"n{index}", 1, kind) for index, kind in enumerate(types)]
    servers, of_slices, said = cut([Server(id=f"n{index}", gpus=1) for index in range(3)], jobs, nodes)
    assert [server.slicing for server in servers] == expected
    assert of_slices == {each.id for each in jobs}
    counts = [f"{kind} ({expected.count(kind)})" for kind in {*expected} - {"none"}]
    assert sorted(said[0][:-1].partition(": ")[2].split(", ")) == sorted(counts)


def test_what_jobs_had_on_a_server_decides() -> None:
    """Also against its model; every kind has a server, as long as there are some, else its jobs take whole GPUs."""
    jobs = treated(queue(sliced("a", "1g.5gb", nodes=("n1",)), sliced("b", 0.5, nodes=("n1",))), "parts").jobs
    both = [Server(id="n0", gpus=1), Server(id="n1", gpus=1)]
    assert [each.slicing for each in cut(both, jobs, [QueueNode("n1", 1, "v100")])[0]] == ["shares", "A100-40GB"]
    (server,), of_slices, said = cut(both[1:], jobs, [])
    assert (server.slicing, of_slices) == ("A100-40GB", {"a"})
    assert said[1] == "Jobs on parts of GPUs that take a whole GPU, as no server is left to be sliced: 1."
    assert cut(both, (), []) == (both, frozenset(), [])


def test_openb_in_shares(tmp_path: Path) -> None:
    """By hand: b joins a on GPU 0, c needs the T4, the whole one takes GPU 1, and e fills GPU 0. d's A10 is nowhere."""
    rows = [
        *("a,1,1,1,500,,LS,Succeeded,0,100,0", "b,1,1,1,400,V100M16|V100M32,LS,Succeeded,0,100,0"),
        *("c,1,1,1,300,T4,LS,Succeeded,0,100,0", "d,1,1,1,300,A10,LS,Succeeded,0,100,0"),
        *("w,1,1,1,1000,,LS,Succeeded,5,50,10", "e,1,1,1,100,,LS,Succeeded,20,60,20"),
    ]
    path = tmp_path / "openb_pod_list_default.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,V100M32\nn1,1,1,2,T4\n"
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(nodes)
    made = import_made("openb", str(path))
    assert isinstance(made.instance, srpt_mapping.Instance)
    found = [(each.id, each.gpu_share, each.pool) for each in made.instance.jobs]
    types = "V100M16|V100M32"
    assert found == [("a", 0.5, None), ("b", 0.4, types), ("c", 0.3, "T4"), ("w", 1.0, None), ("e", 0.1, None)]
    assert [(each.slicing, each.pools) for each in made.instance.servers] == [("shares", (types,)), ("shares", ("T4",))]
    on_first = ("n0", (0,), None)
    expected = {"a": on_first, "b": on_first, "c": ("n1", (0,), None), "w": ("n0", (1,), None), "e": on_first}
    assert placed(made) == expected
    for said in (
        'Pods whose gpu_spec has not so many GPUs on any nodes, left out: 1 (first in line 5, "A10").',
        "Jobs on parts of GPUs (slices), each on its part: 4, which are 1.3 GPUs together.",
        "Servers are the nodes of the trace; jobs that name types of GPUs run on nodes with one of these: 2.",
        "Servers whose GPUs are assumed to be sliced as jobs need it: shares (2).",
        "What happened: the record names no nodes, for 5 of 5 jobs, placed first fit, slices by best fit.",
    ):
        assert said in made.audit
    # in other families, and on other clusters, types are not told apart
    untold = "GPU types are treated alike: the jobs name 2."
    assert untold not in made.audit and untold in import_made("openb", str(path), gpus=8).audit
    assert [each.pools for each in import_made("openb", str(path), gpus=8).instance.servers] == [()]
    assert len(import_instance("openb", str(path), family="elastic_stream")[0].jobs) == 1
    assert len(read_queue("openb", str(path)).jobs) == 1


SACCT = """\
JobIDRaw|JobID|User|State|Submit|Start|End|ElapsedRaw|AllocTRES|NodeList
1|1|a|COMPLETED|0|0|100|100|gres/gpu:a100_3g.20gb=1|n1
2|2|a|COMPLETED|0|0|100|100|gres/gpu:a100_1g.5gb=1|n1
3|3|a|COMPLETED|0|0|100|100|gres/gpu:a100_1g.5gb=2|n1
4|4|b|COMPLETED|0|10|60|50|gres/gpu=1|n1
5|5|b|COMPLETED|0|20|70|50|gres/gpu:a100_4g.20gb=1|n1
6|6|b|COMPLETED|30|30|40|10|gres/gpu:a100_4g.20gb=1|n2
"""


def test_slots_of_a_log_of_slurm(tmp_path: Path) -> None:
    """By hand: 3g lies at slot 4 and 1g, as 6, 4 and 5 are taken, at 0; the whole GPU is the second; 4g has none on n1 then."""
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    made = import_made("slurm", str(path), gpus=4, gpus_of_node=2)
    assert placed(made) == {
        **{"1": ("n1", (0,), 4), "2": ("n1", (0,), 0), "4": ("n1", (1,), None)},
        **{"5": ("n2", (0,), 0), "6": ("n2", (1,), 0)},
    }
    assert "Jobs on parts of GPUs (slices), left out, their GPU time counted by their part: 1." in made.audit
    elsewhere = (
        "What happened: its nodes have no room, or not in equal parts, for 1 of 5 jobs, placed first fit, slices by "
    )
    assert elsewhere + "best fit." in made.audit
    small = import_made("slurm", str(path), gpus=2, gpus_of_node=2)
    assert small.happened is None
    assert small.unknown.endswith(
        "20 s after the start, no GPU had room for a slice, 4g.20gb, as slices were placed by best fit."
    )


def test_jobs_that_run_at_the_start_keep_their_slots() -> None:
    """At 5 s those of 0 s have begun, on GPU 0 in slots 4 and 0; the whole one on GPU 1; 4g waits for a GPU."""
    of_node = {"nodes": ("n1",)}
    source = treated(
        queue(
            *(
                sliced("a", "3g.20gb", **of_node),
                sliced("b", "1g.5gb", **of_node),
                job("w", 0.0, 1.0, 10.0, 1, **of_node),
            ),
            job("c", 6.0, 11.0, 10.0, 1, share=4 / 7, gpu_type="4g.20gb", **of_node),
        ),
        "parts",
    )
    made = gangs_of(source, gpus=2, gpus_of_node=2, window=Window(5.0, None), carried=True)
    assert isinstance(made.instance, srpt_mapping.Instance)
    begun = {each.id: each.begun[0] for each in made.instance.jobs if each.begun}
    assert {name: (held.numbers, held.slot) for name, held in begun.items()} == {
        **{"a": ((0,), 4), "b": ((0,), 0), "w": ((1,), None)}
    }
    assert placed(made)["c"] == ("n1", (0,), 0)
    result = srpt_mapping.solve(made.instance)
    # a and b end at 5 s, c starts then, on either GPU's slots: 5 + 5 + 6 + 15
    assert (str(result.status), result.objective) == ("optimal", 31.0)
