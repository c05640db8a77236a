"""Slurm's accounting dumps: columns, states, resources, arrays, requeues, steps."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.traces import read_queue
from dlsched.traces.queue import Queue, QueuedJob
from dlsched.traces.readers.slurm import Tres, parse_tres, read_slurm

COLUMNS = "JobIDRaw|User|Partition|QOS|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES"
SUBMIT, START, END = "2024-05-01T10:00:00", "2024-05-01T10:30:00", "2024-05-01T12:30:00"
GPU8 = "billing=64,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=500G,node=1"
SUBMIT_S = datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()


def row(**cells: str) -> str:
    """A row of a job that ran two hours on 8 GPUs, save for what is given."""
    plain = ("17", "ada", "gpu", "normal", "COMPLETED", SUBMIT, START, END, "7200", "2880", GPU8, GPU8)
    return "|".join({**dict(zip(COLUMNS.split("|"), plain, strict=True)), **cells}.values())


def dump(tmp_path: Path, *rows: str, header: str = COLUMNS) -> Path:
    """A file with that header and these rows."""
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def read(tmp_path: Path, *rows: str, **options: bool) -> Queue:
    return read_slurm(dump(tmp_path, *rows), **options)


def test_a_job(tmp_path: Path) -> None:
    """Every field of the pinned format."""
    queue = read(tmp_path, row())
    assert queue.jobs == (
        QueuedJob(
            *("17", "ada", "gpu", SUBMIT_S, SUBMIT_S + 1800, SUBMIT_S + 9000, 7200.0, 8),
            **{"cpus": 64.0, "gpu_type": "a100", "state": "COMPLETED", "limit_s": 172800.0},
            **{"line": 2, "partition": "gpu", "qos": "normal"},
        ),
    )
    assert queue.source == "slurm" and queue.dated and queue.latest_s == SUBMIT_S + 9000
    assert queue.audit == (
        "Jobs read: 1.",
        "The times have no time zone and are used as they are, daylight saving included.",
    )


def test_columns_in_any_order_and_further_ones(tmp_path: Path) -> None:
    """The header decides; nodes, cores, names and priorities are taken where they are."""
    header = "Priority|End|NodeList|WorkDir|Start|State|AllocTRES|AllocCPUS|Submit|JobName|JobIDRaw|Elapsed|Timelimit|Partition"
    cells = (
        f"4096|{END}|node[01-02,7]|/home/x|{START}|TIMEOUT|gres/gpu=3|48|{SUBMIT}|train bert|99|02:00:00|1-12:00:00|gpu"
    )
    (job,) = read_slurm(dump(tmp_path, cells, header=header)).jobs
    assert (job.id, job.group, job.priority, job.cpus, job.gpus) == ("99", "train bert", 4096.0, 48.0, 3)
    assert (job.nodes, job.partition) == (("node01", "node02", "node7"), "gpu")
    assert (job.duration_s, job.limit_s) == (7200.0, 36 * 3600.0)


@pytest.mark.parametrize("sign", [*",;\t^~", '","'])
def test_other_delimiters(sign: str, tmp_path: Path) -> None:
    """The header shows which, also of quoted cells, which may hold commas; one that is stated comes first."""
    resources, end = (GPU8, '"') if sign == '","' else ("gres/gpu=2", "")
    text = end + row(AllocTRES=resources, ReqTRES=resources).replace("|", sign) + end
    (job,) = read_slurm(dump(tmp_path, text, header=COLUMNS.replace("|", sign.strip('"')))).jobs
    assert (job.user, job.gpus) == ("ada", 8 if end else 2)
    assert read_slurm(dump(tmp_path, row(User='a"da')), delimiter="|").jobs[0].user == 'a"da'  # a bar parts quotes too
    with pytest.raises(InputError, match=r"line 1: found .*, allowed: a header with columns of"):
        read_slurm(dump(tmp_path, row()), delimiter="#")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu=4,gres/gpu=8,mem=1G", Tres(8, "", 4.0, torn=False)),
        ("gres/gpu:a100=8", Tres(8, "a100", 0.0, torn=False)),
        ("gres/gpu:a100=8,gres/gpu=8", Tres(8, "a100", 0.0, torn=False)),
        ("gres/gpu:a100=2,gres/gpu:v100=1", Tres(3, "", 0.0, torn=False)),
        ("gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1", Tres(3, "", 0.0, torn=False)),
        ("gres/gpu=4,gres/gpu:a100=2", Tres(4, "a100", 0.0, torn=False)),
        ("gres/gpu=2,gres/gpu:a100=4", Tres(4, "a100", 0.0, torn=True)),
        ("gres/gpu:a100_1g.5gb=1", Tres(1, "a100_1g.5gb", 0.0, torn=False, share=1 / 7)),
        ("gres/gpu:a100_1g.5gb=2,gres/gpu=2", Tres(2, "a100_1g.5gb", 0.0, torn=False, share=1 / 7)),
        ("gres/gpu:1g.6gb=1,gres/gpu:a100=1,gres/gpu=2", Tres(2, "", 0.0, torn=False, share=0.625)),
        ("gres/gpu:a100_7g.40gb=1", Tres(1, "a100_7g.40gb", 0.0, torn=False)),
        ("gres/gpumem=40G,gres/gpuutil=90,gres/shard=4,cpu=2", Tres(0, "", 2.0, torn=False)),
        ("gres/gpu=0,cpu=1", Tres(0, "", 1.0, torn=False)),
        ("", Tres(0, "", 0.0, torn=False)),
    ],
)
def test_resources(text: str, expected: Tres) -> None:
    """Typed and untyped GPUs count once, MIG profiles by their part; what only looks like a GPU does not."""
    assert parse_tres(text) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("2880", 172800.0), ("UNLIMITED", None), ("Partition_Limit", None), ("", None), ("0", None), ("INVALID", None)],
)
def test_limits(raw: str, expected: float | None, tmp_path: Path) -> None:
    """Minutes, or none."""
    assert read(tmp_path, row(TimelimitRaw=raw)).jobs[0].limit_s == expected


def test_states_of_jobs_that_ended(tmp_path: Path) -> None:
    """All are kept, by the bare word; a set of words keeps those."""
    words = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "REQUEUED")
    rows = [row(JobIDRaw=str(count), State=state) for count, state in enumerate((*words, "CANCELLED by 1000"))]
    assert [job.state for job in read(tmp_path, *rows).jobs] == [*words, "CANCELLED"]
    queue = read_slurm(dump(tmp_path, *rows), states={"completed", "CANCELLED"})
    assert [job.id for job in queue.jobs] == ["0", "2", "8"]
    assert "Jobs in state FAILED, left out as requested: 1 (first in line 3)." in queue.audit


def test_running_and_waiting_jobs(tmp_path: Path) -> None:
    """Left out, unless asked for; a running job holds its GPUs, a waiting one asks for them."""
    rows = [
        row(JobIDRaw="1"),
        row(JobIDRaw="2", State="RUNNING", End="Unknown", ElapsedRaw="600"),
        row(JobIDRaw="3", State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0", AllocTRES=""),
        row(JobIDRaw="4", State="COMPLETING", ElapsedRaw="600"),
        row(JobIDRaw="5", State="RUNNING", End=END),  # sacct --truncate
    ]
    queue = read(tmp_path, *rows)
    assert [job.id for job in queue.jobs] == ["1"]
    assert "Jobs that are still running or waiting, left out: 4 (first in line 3)." in queue.audit
    jobs = read(tmp_path, *rows, ended_only=False).jobs
    assert [(job.id, job.gpus, job.start_s, job.end_s, job.duration_s) for job in jobs] == [
        ("1", 8, SUBMIT_S + 1800, SUBMIT_S + 9000, 7200.0),
        ("2", 8, SUBMIT_S + 1800, None, None),
        ("3", 8, None, None, None),
        ("4", 8, SUBMIT_S + 1800, None, None),
        ("5", 8, SUBMIT_S + 1800, None, None),
    ]


def test_jobs_that_never_ran(tmp_path: Path) -> None:
    """Cancelled while they waited, as newer and older versions say it."""
    newer = row(JobIDRaw="1", State="CANCELLED by 7", Start="None", ElapsedRaw="0", AllocTRES="")
    older = row(JobIDRaw="2", State="CANCELLED by 7", Start=END, ElapsedRaw="0", AllocTRES="")
    queue = read(tmp_path, newer, older, row(JobIDRaw="3"))
    assert [job.id for job in queue.jobs] == ["3"]
    assert queue.audit[1:-1] == ("Jobs that ended without running, left out: 2 (first in line 2).",)


def test_resources_that_were_not_recorded(tmp_path: Path) -> None:
    """A job that ran and does not say what it got is taken to have got what it asked for; said so."""
    queue = read(tmp_path, row(AllocTRES=""))
    assert queue.jobs[0].gpus == 8
    said = "Jobs without an allocation, assumed to have got what they requested: 1 (first in line 2)."
    assert said in queue.audit
    with pytest.raises(InputError, match=r"found no job that held GPUs .*Jobs without a GPU, left out: 1"):
        read(tmp_path, row(AllocTRES="cpu=4,mem=1G"))  # it asked for GPUs and ran without


def test_steps_are_passed_over(tmp_path: Path) -> None:
    """Dotted ids, in any spelling."""
    names = ("17.batch", "17.extern", "17.0", "17_4.batch", "17+1.0")
    queue = read(tmp_path, row(), *(row(JobIDRaw=name) for name in names))
    assert len(queue.jobs) == 1
    assert "Steps of jobs, passed over: 5 (first in line 3)." in queue.audit


def test_arrays(tmp_path: Path) -> None:
    """An element is a job by its raw id; elements that wait stand in one row."""
    header = COLUMNS.replace("JobIDRaw", "JobIDRaw|JobID")
    waiting = row(
        JobIDRaw="200|123_[5-7,9%2]", State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0", AllocTRES=""
    )
    path = dump(tmp_path, row(JobIDRaw="124|123_4"), row(JobIDRaw="125|123_3"), waiting, header=header)
    assert [job.id for job in read_slurm(path).jobs] == ["124", "125"]
    assert [job.id for job in read_slurm(path, ended_only=False).jobs][2:] == ["123_5", "123_6", "123_7", "123_9"]
    found = [(job.array, job.at_once) for job in read_slurm(path, ended_only=False).jobs]
    assert found == [("123", None)] * 2 + [("123", 2)] * 4
    (job,) = read_slurm(dump(tmp_path, row(JobIDRaw="123_4"), header=COLUMNS.replace("JobIDRaw", "JobID"))).jobs
    assert (job.id, job.array) == ("123_4", "123")
    for text, most in (("9_[1-2]", None), ("9_[1-2%0]", None), ("9_[1%7]", 7)):
        pending = row(JobIDRaw=text, State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0", AllocTRES="")
        assert [job.at_once for job in read_slurm(dump(tmp_path, pending), ended_only=False).jobs][-1] == most


def test_shared_gpus_of_unknown_parts(tmp_path: Path) -> None:
    """Shards and MPS do not say how large a part they are: left out by a reason of their own."""
    shared = row(JobIDRaw="18", AllocTRES="cpu=1,gres/shard=4"), row(JobIDRaw="19", AllocTRES="gres/mps:a=50")
    queue = read(tmp_path, row(), *shared)
    assert [job.id for job in queue.jobs] == ["17"]
    assert (
        "Jobs on shared GPUs whose share the log does not state, left out and not counted: 2 (first in "
        'line 3, "gres/shard=4").'
    ) in queue.audit


def test_components_of_heterogeneous_jobs(tmp_path: Path) -> None:
    """Each is a job of its own, and this is said."""
    header = COLUMNS.replace("JobIDRaw", "JobIDRaw|JobID")
    queue = read_slurm(dump(tmp_path, row(JobIDRaw="123|123+0"), row(JobIDRaw="124|123+1"), header=header))
    assert [job.id for job in queue.jobs] == ["123", "124"]
    assert "Components of heterogeneous jobs, counted as jobs of their own: 2 (first in line 2)." in queue.audit


def test_requeued_jobs(tmp_path: Path) -> None:
    """Of ``sacct -D`` the last attempt counts, wherever it stands; one that still runs is no ended job."""
    last = row(Submit="2024-05-01T11:00:00", Start="2024-05-01T11:10:00", End="2024-05-01T11:20:00", ElapsedRaw="600")
    first = row(State="NODE_FAIL")
    for rows in ((first, last), (last, first)):
        queue = read(tmp_path, *rows, row(JobIDRaw="18"))
        assert [(job.id, job.state, job.duration_s) for job in queue.jobs] == [
            ("17", "COMPLETED", 600.0),
            ("18", "COMPLETED", 7200.0),
        ]
        assert any(
            each.startswith("Earlier attempts of a job, left out, as its last one counts: 1") for each in queue.audit
        )
    running = row(State="RUNNING", Submit="2024-05-01T13:00:00", Start="2024-05-01T13:00:00", End="Unknown")
    assert [job.id for job in read(tmp_path, first, running, row(JobIDRaw="18")).jobs] == ["18"]


def test_times_as_numbers_and_with_zones(tmp_path: Path) -> None:
    """``SLURM_TIME_FORMAT=%s`` and one with a zone give the same seconds."""
    (number,) = read(tmp_path, row(Submit="1714557600", Start="1714559400", End="1714566600")).jobs
    (zoned,) = read(tmp_path, row(Submit=f"{SUBMIT}+0000", Start=f"{START}Z", End="2024-05-01T14:30:00+02:00")).jobs
    assert number == zoned
    assert (number.submit_s, number.end_s) == (SUBMIT_S, SUBMIT_S + 9000)


BERLIN_BACK = datetime(2025, 10, 26, 1, tzinfo=UTC)
"""When clocks in Berlin go back from 3:00 to 2:00."""


def berlin(moment: datetime) -> str:
    """The stamp of Berlin's clocks that day, without a zone."""
    return (moment + timedelta(hours=2 if moment < BERLIN_BACK else 1)).strftime("%Y-%m-%dT%H:%M:%S")


def night() -> list[tuple[datetime, datetime, datetime]]:
    """Submission, start and end of jobs over the change: every quarter of four hours, run for 40 minutes and for two hours."""
    times = []
    for quarter in range(16):
        start = datetime(2025, 10, 25, 23, tzinfo=UTC) + timedelta(minutes=15 * quarter)
        times += [(start, start, start + timedelta(minutes=minutes)) for minutes in (40, 120)]
    return times


def night_rows(*, elapsed: bool = True) -> list[str]:
    """Rows of these jobs with local stamps."""
    return [
        row(
            JobIDRaw=str(index),
            Submit=berlin(submit),
            Start=berlin(start),
            End=berlin(end),
            ElapsedRaw=str(int((end - start).total_seconds())) if elapsed else "",
        )
        for index, (submit, start, end) in enumerate(night(), 1)
    ]


def test_jobs_over_the_change_of_clocks(tmp_path: Path) -> None:
    """They last as long as they say, also where they end before they start by the clock; nobody waits."""
    queue = read(tmp_path, *night_rows())
    assert [job.length_s for job in queue.jobs] == [2400.0, 7200.0] * 16
    assert all(job.end_s == (job.start_s or 0) + job.length_s and job.start_s == job.submit_s for job in queue.jobs)
    # 40 minutes from 2:30 and 2:45 summer time on end at 2:10 and 2:25
    said = "as when clocks go back), whose stated duration is used: 2 (first in line 14, 2400.0)."
    assert any(each.endswith(said) for each in queue.audit)


def test_local_times_of_a_zone(tmp_path: Path) -> None:
    """Become UTC; the hour that comes twice is read by the duration, submissions as near to the start as may be."""
    queue = read_slurm(dump(tmp_path, *night_rows()), time_zone="Europe/Berlin")
    found = [(job.submit_s, job.start_s, job.end_s) for job in queue.jobs]
    fits = [tuple(each.timestamp() for each in times) for times in night()]
    # three times that are all shown twice fit both hours: the first is taken
    twice = [
        index for index, (_, start, end) in enumerate(night()) if start >= BERLIN_BACK and berlin(end) < "2025-10-26T03"
    ]
    assert len(twice) == 2
    for index, (times, expected) in enumerate(zip(found, fits, strict=True)):
        assert times == (tuple(each - 3600 for each in expected) if index in twice else expected)
    assert any(
        each.startswith("Times without a time zone are read as those of Europe/Berlin; ") for each in queue.audit
    )


def test_local_times_without_durations(tmp_path: Path) -> None:
    """In order first, then nearest to each other; times with a zone and epochs stay; unknown zones are refused."""
    rows = [
        *night_rows(elapsed=False)[12:13],
        row(
            JobIDRaw="90",
            Submit="2025-10-26T02:50:00",
            Start="2025-10-26T02:10:00",
            End="2025-10-26T04:10:00",
            ElapsedRaw="",
        ),
    ]
    first, second = read_slurm(dump(tmp_path, *rows), time_zone="Europe/Berlin").jobs
    change_s = BERLIN_BACK.timestamp()
    assert (first.submit_s, first.start_s, first.end_s) == (change_s - 1800, change_s - 1800, change_s + 600)
    assert (second.submit_s, second.start_s, second.end_s) == (change_s - 600, change_s + 600, change_s + 7800)
    zoned = row(Submit="1714557600", Start="1714559400", End="1714566600")
    assert read_slurm(dump(tmp_path, zoned), time_zone="Asia/Tokyo") == read(tmp_path, zoned)
    table = tmp_path / "jobs.csv"
    table.write_text("t,s,e,g\n2025-10-26 02:50,2025-10-26 02:50,2025-10-26 02:30,1\n")
    columns = "arrival=t,start=s,end=e,gpus=g"
    (job,) = read_queue("csv", str(table), columns=columns, time_zone="Europe/Berlin").jobs
    assert (job.submit_s, job.end_s, job.duration_s) == (change_s - 600, change_s + 1800, 2400.0)
    for name in ("Nowhere/City", "Europe", "", "../etc"):
        with pytest.raises(UsageError, match=r"time_zone: found .*, allowed: a name such as Europe/Berlin"):
            read_slurm(dump(tmp_path, row()), time_zone=name)


def test_a_packed_file(tmp_path: Path) -> None:
    """Is read by its content, whatever its name; one that breaks off is refused."""
    path = dump(tmp_path, row())
    plain = read_slurm(path)
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed)
    assert read_slurm(path) == plain
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"sacct\.txt: cannot be unpacked"):
        read_queue("slurm", str(path))


def test_lists_of_nodes_that_cannot_be_read(tmp_path: Path) -> None:
    """The job is kept without nodes."""
    header = f"{COLUMNS}|NodeList"
    queue = read_slurm(dump(tmp_path, f"{row()}|node[01-", f"{row(JobIDRaw='18')}|None assigned", header=header))
    assert [job.nodes for job in queue.jobs] == [(), ()]
    assert 'Lists of nodes that cannot be read, treated as missing: 1 (first in line 2, "node[01-").' in queue.audit


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Columns, with those that are there; a dump without a header."""
    with pytest.raises(
        InputError, match=r'line 1: missing column Start, AllocTRES or ReqTRES; found "JobIDRaw", "State"'
    ):
        read_slurm(dump(tmp_path, "x", header="JobIDRaw|State|Submit|End"))
    with pytest.raises(InputError, match=r"line 1: found .*allowed: a header with columns of AllocCPUS"):
        read_slurm(dump(tmp_path, header=row()))
    with pytest.raises(InputError, match=r"line 1: found .*allowed: a header"):  # without -P
        read_slurm(dump(tmp_path, "----- -----", header="JobIDRaw      User      State"))
