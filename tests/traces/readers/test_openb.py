"""The pods of openb: shares, the end of the trace, the nodes beside; and the real file where it is there."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue.queue import QueuedJob, QueueNode
from dlsched.traces.readers.openb import read_openb

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "openb" / "openb_pod_list_default.csv"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,96000,393216,8,V100M32\nnode-1,32000,262144,0,\n"


def pods(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "openb_pod_list_default.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_pods(tmp_path: Path) -> None:
    """A shared GPU, eight whole ones, one without a GPU, one that never ran, one deleted while it ran, one that had not ended."""
    path = pods(
        tmp_path,
        "p0,6000,12288,1,460,,LS,Succeeded,100,900,150",
        "p1,88000,327680,8,1000,V100M16|V100M32,Burstable,Failed,200,700,200",
        "p2,1000,1024,0,0,,BE,Succeeded,300,400,300",
        "p3,1000,1024,1,1000,,BE,Pending,300,500,",
        "p4,1000,1024,1,1000,,LS,Running,300,800,310",
        "p5,1000,1024,1,1000,,LS,Running,300,1000,310",
    )
    queue = read_openb(path)
    assert queue.jobs == (
        QueuedJob("p0", "", "LS", 100.0, 150.0, 900.0, 750.0, 1, 0.46, cpus=6.0, state="Succeeded", line=2),
        QueuedJob(
            "p1",
            "",
            "Burstable",
            200.0,
            200.0,
            700.0,
            500.0,
            8,
            cpus=88.0,
            gpu_type="V100M16|V100M32",
            state="Failed",
            line=3,
        ),
        QueuedJob("p4", "", "LS", 300.0, 310.0, 800.0, 490.0, 1, cpus=1.0, state="Running", line=6),
    )
    assert not queue.dated and queue.nodes == ()
    assert queue.audit[1:4] == (
        "Jobs without a GPU, left out: 1 (first in line 4).",
        "Jobs that ended without having run, left out: 1 (first in line 5).",
        "Jobs that run or wait, left out: 1 (first in line 7).",
    )
    assert [job.end_s for job in read_openb(path, ended_only=False).jobs][-1] is None


def test_parts_of_several_gpus(tmp_path: Path) -> None:
    """Each of two has the part that stands there."""
    (job,) = read_openb(pods(tmp_path, "p0,6000,12288,2,250,,LS,Succeeded,100,900,150")).jobs
    assert (job.gpus, job.share, job.parts) == (2, 0.25, 0.5)


def test_nodes(tmp_path: Path) -> None:
    """Those beside the file, or those that are given; what is no list of nodes is refused."""
    path = pods(tmp_path, "p0,6000,12288,1,460,,LS,Succeeded,100,900,150")
    assert any("openb_node_list_gpu_node.csv is not beside" in each for each in read_openb(path).audit)
    listed = tmp_path / "other.csv"
    listed.write_text(NODES)
    expected = (QueueNode("node-0", 8, "V100M32", 96.0), QueueNode("node-1", 0, "", 32.0))
    assert read_openb(path, nodes=listed).nodes == expected
    listed.rename(tmp_path / "openb_node_list_gpu_node.csv")
    assert read_openb(path).nodes == expected
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES.replace(",8,", ",eight,"))
    with pytest.raises(InputError, match=r'openb_node_list_gpu_node.csv, line 2: found "eight", allowed: a number'):
        read_openb(path)
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES + "node-2,1\n")
    with pytest.raises(
        InputError, match=r"found damage, allowed: whole rows only \(Rows with other than 5 cells.*line 4"
    ):
        read_openb(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p1,1,1,1,0,,LS,Failed,100,900,150", "Entries whose gpu_milli is not above 0 and at most 1000"),
        ("p1,1,1,1,1500,,LS,Failed,100,900,150", "Entries whose gpu_milli is not above 0 and at most 1000"),
        ("p1,1,1,one,1000,,LS,Failed,100,900,150", "Entries whose num_gpu is no number"),
        ("p1,1,1,1,1000,,LS,Failed,100,90,150", "Jobs that end before they start"),
        (",1,1,1,1000,,LS,Failed,100,900,150", "Entries without a name"),
        ("p1,1,1,1,1000,,LS,Failed,,900,150", "Jobs that do not say when they came"),
        ("p1,1,1,1,1000,,LS,Failed,100,900", "Rows with other than 11 cells"),
    ],
)
def test_damaged_pods(row: str, reason: str, tmp_path: Path) -> None:
    queue = read_openb(pods(tmp_path, "p0,6000,12288,1,460,,LS,Succeeded,100,900,150", row))
    assert len(queue.jobs) == 1
    assert any(each.startswith(f"{reason}, left out: 1 (first in line 3") for each in queue.audit), queue.audit


@pytest.mark.skipif(not DATA.is_file(), reason="the raw data are not here")
def test_the_real_file() -> None:
    """Counts that a spreadsheet gives: 7,064 pods with GPUs, 861 of them never scheduled, 32 deleted with the trace."""
    queue = read_openb(DATA)
    assert len(queue.jobs) == 7064 - 861 - 32
    assert len(queue.nodes) == 1213 and sum(node.gpus for node in queue.nodes) == 6212
    assert queue.latest_s == 12902960.0
