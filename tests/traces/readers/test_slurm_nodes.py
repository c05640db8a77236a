"""Nodes as ``scontrol show node -o`` prints them: by hand, in errors, and in ``whatif`` and ``advise``."""

from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched.advice import decide
from dlsched.core.errors import InputError
from dlsched.traces import read_queue
from dlsched.traces.queue import QueueNode
from dlsched.traces.readers.slurm import read_nodes
from dlsched.traces.walls import pools_of

A0 = "NodeName=a0 Arch=x86_64 CPUAlloc=0 CPUTot=64 Gres=gpu:a100:4(S:0-1) OS=Linux 5.15 #1 SMP State=IDLE Partitions=a,debug"
A1 = "NodeName=a1 Gres=gpu:a100:4(S:0,2),gpu:a100_1g.5gb:7 State=MIXED+DRAIN Partitions=a Reason=fan State=IDLE [root@now]"
H0 = "NodeName=h0 Gres=gpu:8 State=MIXED* Partitions=h BootTime=2025-03-01T00:00:00"
H1 = "NodeName=h1 Gres=shard:8,gpu State=DOWN* Partitions=h"
C0 = "NodeName=c0 Gres=(null) State=IDLE Partitions=cpu"
HEAD = "JobID|User|Partition|State|Submit|Start|End|AllocTRES|NodeList"


def written(path: Path, *lines: str) -> Path:
    """A file of lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def row(
    name: str, partition: str, state: str, came: int, start: int | None, end: int | None, gpus: int, on: str
) -> str:
    """A row of sacct; minutes of an hour."""
    times = ("Unknown" if minute is None else f"2025-03-01T10:{minute:02}:00" for minute in (came, start, end))
    return "|".join([name, "ann", partition, state, *times, f"gres/gpu={gpus}", on])


def test_a_node_by_its_line(tmp_path: Path) -> None:
    """Types, MIG devices as parts of a GPU, a count that is missing, flags of states; nodes without GPUs are left out."""
    assert read_nodes(written(tmp_path / "nodes", A0, A1, "", C0, H0, H1)) == (
        QueueNode("a0", 4, "a100", 64.0, ("a", "debug")),
        QueueNode("a1", 5, "", 0.0, ("a",), closed=True),
        QueueNode("h0", 8, "", 0.0, ("h",)),
        QueueNode("h1", 1, "", 0.0, ("h",), closed=True, shards=8),
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([A0, "   Gres=gpu:1 State=IDLE"], 'line 2: found "Gres=gpu:1 State=IDLE"'),
        ([A0, "NodeName=b State=IDLE"], "line 2"),
        ([A0, H0, A0], 'line 3: found NodeName="a0" again'),
        ([A0, "NodeName=b Gres=gpu:t:many State=IDLE"], 'line 2: found "many"'),
        ([A0, "NodeName=b Gres=gpu:1 CPUTot=x State=IDLE"], 'line 2: found "x"'),
        ([C0], "1 nodes without GPUs"),
    ],
)
def test_what_is_no_list_of_nodes(lines: list[str], said: str, tmp_path: Path) -> None:
    """The message names the line."""
    with pytest.raises(InputError) as caught:
        read_nodes(written(tmp_path / "nodes", *lines))
    assert said in str(caught.value)


def test_pools_have_the_nodes_of_their_partitions(tmp_path: Path) -> None:
    """As listed, whatever was in use; h1 is down and was not used. The second job of h waits for no GPU of a."""
    log = written(
        tmp_path / "log",
        HEAD,
        row("1", "a", "COMPLETED", 0, 0, 10, 1, "a1"),
        row("2", "h", "COMPLETED", 0, 0, 20, 8, "h0"),
        row("3", "h", "COMPLETED", 10, 20, 30, 1, "h0"),
    )
    nodes = str(written(tmp_path / "nodes", A0, A1, C0, H0, H1))
    queue = read_queue("slurm", str(log), nodes=nodes)
    assert "Nodes that are down or drained and ran no job, left out: 1." in queue.audit
    pools = pools_of(queue)
    assert {name: [(node.id, node.gpus) for node in pool.nodes] for name, pool in pools.items()} == {
        "a+debug": [("a0", 4), ("a1", 5)],
        "h": [("h0", 8)],
    }
    data = dlsched.whatif(log, "slurm", nodes=nodes, policies=["fifo"], workers=1, time_limit=5).data()
    assert data["gpus"] == 17 and data["waiting_s"] == {"happened": 200.0, "usual": 200.0, "fifo": 200.0}
    # a pool alone has its own nodes only; a partition of no node and of no known place parts nothing
    alone = pools_of(replace(queue, jobs=queue.jobs[:1]))
    assert {name: [node.id for node in pool.nodes] for name, pool in alone.items()} == {"": ["a0", "a1"]}
    lost = queue.jobs[0]._replace(id="4", partition="old")
    assert list(pools_of(replace(queue, jobs=(*queue.jobs, lost)))) == ["a+debug+old", "h"]
    (whole,) = pools_of(replace(queue, jobs=(*queue.jobs, lost._replace(nodes=("gone",))))).values()
    assert len(whole.nodes) == 3 and "the cluster is one pool: 1." in whole.audit[-1]


def test_no_job_starts_on_a_node_that_is_drained(tmp_path: Path) -> None:
    """Of a's nodes only a0 takes jobs: its four GPUs; the job on a1 stays there, and h's waits for h0."""
    log = written(
        tmp_path / "log",
        HEAD,
        row("1", "a", "RUNNING", 0, 0, None, 1, "a1"),
        row("2", "h", "RUNNING", 0, 0, None, 8, "h0"),
        row("3", "a", "PENDING", 5, None, None, 4, ""),
        row("4", "a", "PENDING", 6, None, None, 1, ""),
        row("5", "h", "PENDING", 7, None, None, 1, ""),
    )
    nodes = str(written(tmp_path / "nodes", A0, A1, H0))
    advice = decide(read_queue("slurm", str(log), False, nodes=nodes), method="fifo-backfill")
    assert {each.job: (each.action, dict(each.nodes)) for each in advice.actions} == {
        "1": ("keep", {"a1": 1}),
        "2": ("keep", {"h0": 8}),
        "3": ("start", {"a0": 4}),
        "4": ("wait", {}),
        "5": ("wait", {}),
    }
    assert (advice.gpus, advice.free) == (13, 4)
    assert any("drained, on which no job starts: 1." in text for text in advice.audit)


def test_shards_are_parts_where_the_nodes_say_how_many(tmp_path: Path) -> None:
    """Eight make a GPU: two are a quarter, twelve three quarters of two; with 4 on another node nothing is known."""
    rows = [row(str(name), "a", "COMPLETED", 0, 0, 10, 1, "a0") for name in range(4)]
    taken = ("gres/shard=2", "cpu=4,gres/shard:a100=12", "gres/mps=50")
    rows = [each.replace("gres/gpu=1", own) for each, own in zip(rows, taken, strict=False)] + rows[3:]
    log = str(written(tmp_path / "sacct.txt", HEAD, *rows))
    node = "NodeName=a0 Gres=gpu:a100:4,shard:a100:32(S:0) State=IDLE Partitions=a"
    nodes = str(written(tmp_path / "nodes", node, C0))
    queue = read_queue("slurm", log, nodes=nodes, slices="whole")
    assert [(job.id, job.gpus, job.share) for job in queue.jobs] == [("0", 1, 0.25), ("1", 2, 0.75), ("3", 1, 1.0)]
    said = "Jobs on shards of GPUs, whose number per GPU the nodes state: 2 (first in line 2)."
    assert said in queue.audit
    parted = read_queue("slurm", log, nodes=nodes, slices="parts")
    assert [job.id for job in parted.jobs] == ["0", "3"] and [job.id for job in parted.slices] == ["1"]
    written(tmp_path / "nodes", node, node.replace("a0", "a1").replace("32", "16"))
    assert [job.id for job in read_queue("slurm", log, nodes=nodes).jobs] == ["3"]
