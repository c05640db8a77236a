"""Queues, and traces of Philly and Gavel, as streams: on which numbers of GPUs a job may run, and what policies see."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.elastic_stream.checker import check, flow_times
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.traces import import_gavel, import_philly
from dlsched.traces.makers.elastic_stream import stream_of
from dlsched.traces.queue import Queue, Window
from dlsched.traces.readers.simulators import GPU_TYPES, job_types
from dlsched.traces.selection import ImportedInstance
from tests.traces.drawn import gavel_file, job, philly_file, queue

DATA = Path(__file__).parents[3].parent / "shared" / "data"
LM = "LM (batch size 5)"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the raw data are not here")
VIDEO = {1: 561.744, 2: 312.553, 4: 189.987, 8: 147.388}  # seconds per epoch as PCS has them
TWO = queue(job("late", 50.0, 60.0, 30.0, 4, least_gpus=2), job("first", 40.0, 40.0, 10.5, 2))


def made(source: Queue, **options: object) -> tuple[Instance, ImportedInstance]:
    found = stream_of(source, **options)  # type: ignore[arg-type]
    assert isinstance(found.instance, Instance)
    return found.instance, found


def seconds(instance: Instance) -> list[dict[int, float]]:
    """Of the whole job by count."""
    tables = [each.epoch_time_s or {} for each in instance.jobs]
    return [
        {count: each.work * time for count, time in table.items()}
        for each, table in zip(instance.jobs, tables, strict=True)
    ]


def test_jobs_run_on_what_they_held_or_said() -> None:
    """By hand: 30 s on 4 GPUs are 40 s on 3 and 60 s on 2; nothing is said of 1, nor of other counts of ``first``."""
    instance, found = made(TWO)
    assert [(each.id, each.arrival_s, each.restart_s) for each in instance.jobs] == [
        ("first", 0.0, 0.0),
        ("late", 10.0, 0.0),
    ]
    first, late = seconds(instance)
    assert first == {2: 10.5}
    assert late == pytest.approx({2: 60.0, 3: 40.0, 4: 30.0})
    assert instance.units == 8
    assert "Jobs that may run on fewer GPUs, assumed to be slower in proportion: 1." in found.audit
    assert "A restart is assumed to cost 0 s: the trace does not say." in found.audit
    assert [each.id for each in found.jobs] == ["first", "late"]
    assert instance.source == f"imported from jobs.csv, a file of csv. Audit: {' '.join(found.audit)}"
    assert [each.restart_s for each in made(TWO, restart_s=7.0)[0].jobs] == [7.0, 7.0]


def test_fewer_gpus_than_a_job_held() -> None:
    """A job stays as long as its fewest fit; what happened does not."""
    instance, found = made(TWO, gpus=2)
    assert [each.id for each in instance.jobs] == ["first", "late"]
    assert found.happened is None
    assert "choice[late]" in found.audit[-1]
    instance, found = made(TWO, gpus=1_000_000_000)
    assert (instance.units, found.happened is None) == (1_000_000_000, False)
    with pytest.raises(InputError, match="found no job that fits 1 GPUs"):
        made(TWO, gpus=1)


def test_published_scaling() -> None:
    """As the table of PCS has it for short jobs, from the fewest on, and above to ``max_gpus``; to six digits."""
    instance, found = made(TWO, scaling="published")
    first, late = seconds(instance)
    assert first == pytest.approx({1: 10.5 * VIDEO[1] / VIDEO[2], 2: 10.5})
    assert late == pytest.approx({2: 30 * VIDEO[2] / VIDEO[4], 4: 30.0})
    first, late = seconds(made(TWO, scaling="published", max_gpus=8)[0])
    assert (list(first), list(late)) == ([1, 2, 4, 8], [2, 4, 8])
    assert late[8] == pytest.approx(30 * VIDEO[8] / VIDEO[4])
    assert any(
        "follow tables of PCS by GPU-hours, an assumption of ours: Video prediction (2 jobs)" in each
        for each in found.audit
    )
    wide, found = made(queue(job("wide", 0.0, 0.0, 5.0, 100)), scaling="published")
    assert seconds(wide) == [{100: 5.0}]
    assert any("no other count (1 jobs)" in each for each in found.audit)


def test_estimates_are_jobs_that_stop_early() -> None:
    """Policies see what users said, for b the median; a job ends as it did, and one that ran longer is told by what it ran."""
    source = queue(
        job("a", 0.0, 0.0, 30.0, 1, limit_s=120.0),
        job("b", 0.0, 0.0, 30.0, 1),
        job("c", 0.0, 0.0, 90.0, 1, limit_s=60.0),
    )
    instance, found = made(source, estimates=True)
    assert [(each.epochs, each.stops_at) for each in instance.jobs] == [(120.0, 0.25), (90.0, 1 / 3), (90.0, 1.0)]
    assert "Jobs that ran longer than requested, for which policies know the real run time: 1." in found.audit
    assert isinstance(found.happened, Stream)
    assert math.fsum(flow_times(instance, found.happened)) == pytest.approx(150.0, rel=1e-12)


def test_windows_and_jobs_carried_over() -> None:
    """By hand, at 45: ``first`` has 5.5 s left."""
    instance, _ = made(TWO, window=Window(45.0, 100.0))
    assert [(each.id, each.arrival_s) for each in instance.jobs] == [("late", 5.0)]
    instance, found = made(TWO, window=Window(45.0, 100.0), carried=True)
    assert [(each.id, each.arrival_s, each.epochs) for each in instance.jobs] == [
        ("first", 0.0, 5.5),
        ("late", 5.0, 30.0),
    ]
    assert isinstance(found.happened, Stream)
    assert check(instance, found.happened) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": 0}, "gpus: found 0, allowed: an integer >= 1"),
        ({"scaling": "linear"}, "scaling: found 'linear', allowed: own, published"),
        ({"max_gpus": 8}, "max_gpus: found 8, allowed: with scaling published only"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    """Each is misuse."""
    with pytest.raises(UsageError, match=message):
        made(TWO, **options)


def tables(instance: Any) -> list[dict[int, float]]:
    return [dict(job.epoch_time_s) for job in instance.jobs]


def test_philly_sorts_and_numbers_the_jobs(tmp_path: Path) -> None:
    """By arrival, equal times in the order of the file; arrivals are relative to the first, a job is one epoch."""
    path = philly_file(tmp_path, "00:01:00,30,1", "00:00:10.5,20,1", "00:01:00,10,1")
    instance, audit = import_philly(path)
    assert [(job.id, job.arrival_s, job.epochs) for job in instance.jobs] == [
        ("j0", 0.0, 1.0),
        ("j1", 49.5, 1.0),
        ("j2", 49.5, 1.0),
    ]
    assert tables(instance) == [{1: 20.0}, {1: 30.0}, {1: 10.0}]
    assert "Rows earlier than the row above them: 1; the jobs were sorted by arrival." in audit
    assert "Jobs with a single allowed count: 3 of 3." in audit
    assert instance.name == "philly-3x8"
    assert instance.source is not None
    assert instance.source.startswith("imported from philly_jobs.csv of petuum/adaptdl")
    assert instance.source.endswith(f". Audit: {' '.join(audit)}")


def test_philly_keeps_the_duration_and_follows_the_curve(tmp_path: Path) -> None:
    """Exactly the duration on the GPUs asked for, the ratio of the table at powers of two below."""
    instance, _ = import_philly(philly_file(tmp_path, "00:00:00,100.1234567,4"))
    (table,) = tables(instance)
    assert table[4] == 100.1234567
    assert table == pytest.approx({n: 100.1234567 * VIDEO[n] / VIDEO[4] for n in (1, 2, 4)}, rel=1e-5)


def test_philly_interpolates_speed_ups(tmp_path: Path) -> None:
    """By hand: on 6 GPUs the speed is the mean of those on 4 and 8."""
    instance, audit = import_philly(philly_file(tmp_path, "00:00:00,100,6"))
    (table,) = tables(instance)
    on_6 = 1 / ((1 / VIDEO[4] + 1 / VIDEO[8]) / 2)
    assert on_6 == pytest.approx(165.998, abs=5e-4)
    assert table == pytest.approx({n: 100 * VIDEO[n] / on_6 for n in (1, 2, 4)} | {6: 100.0}, rel=1e-5)
    assert any(sentence.startswith("Jobs with counts that their table does not hold: 1;") for sentence in audit)


@pytest.mark.parametrize(
    ("duration_s", "gpus", "ratio"),
    [
        (1800, 2, 561.744 / 312.553),  # 1 GPU-hour: video prediction
        (1801, 2, 9420.28 / 4754.08),  # ResNet-50
        (18_000, 2, 9420.28 / 4754.08),  # 10 GPU-hours
        (18_001, 2, 29197.7 / 14954.9),  # Inception-v4
        (180_001, 2, 39936.0 / 20050.0),  # Transformer
        (1, 32, 29197.7 / 1288.69),  # video prediction and ResNet-50 end at 28 GPUs
        (1, 64, 64.3713),  # only Transformer has 64; its table has it 64.4 times as fast
    ],
)
def test_philly_chooses_the_curve_by_gpu_hours(tmp_path: Path, duration_s: int, gpus: int, ratio: float) -> None:
    """The class's table, or the next that reaches the job's GPUs."""
    instance, _ = import_philly(philly_file(tmp_path, f"00:00:00,{duration_s},{gpus}"))
    assert tables(instance)[0][1] == pytest.approx(duration_s * ratio, rel=1e-5)


def test_philly_jobs_beyond_all_tables_keep_their_count(tmp_path: Path) -> None:
    """And the cluster is large enough for them."""
    instance, audit = import_philly(philly_file(tmp_path, "00:00:00,100,100", "00:16:40,100,1"), max_gpus=256)
    assert tables(instance)[0] == {100: 100.0}
    assert instance.units == 104
    assert "Jobs on more GPUs than any table holds, with no other count: 1." in audit
    assert "The cluster is given 104 GPUs: as some job needs 100, rounded up to a multiple of 8." in audit
    _, audit = import_philly(philly_file(tmp_path, "00:00:00,100,100"), gpus=64)
    assert "Jobs that need more GPUs than the cluster has, so that no stream exists: 1." in audit


def test_philly_jobs_may_grow(tmp_path: Path) -> None:
    """To powers of two up to the limit and the end of the table (28 GPUs); a larger job is not made smaller."""
    path = philly_file(tmp_path, "00:00:00,100,1", "00:00:00,100,3", "00:00:00,100,8")
    counts = {
        limit: [list(table) for table in tables(import_philly(path, max_gpus=limit)[0])] for limit in (1, 4, 7, 64)
    }
    assert counts[1] == [[1], [1, 2, 3], [1, 2, 4, 8]]
    assert counts[4] == counts[7] == [[1, 2, 4], [1, 2, 3, 4], [1, 2, 4, 8]]
    assert counts[64] == [[1, 2, 4, 8, 16], [1, 2, 3, 4, 8, 16], [1, 2, 4, 8, 16]]


def test_philly_audits_its_rows(tmp_path: Path) -> None:
    """Durations of 0, equal rows, GPU times that disagree, virtual clusters."""
    equal = "2017-10-01 00:00:00,50,2,100,a"
    other = "2017-10-01 00:00:01,50,2,50,b"
    path = philly_file(tmp_path, equal, other, equal, "00:00:00,0,1", "00:00:00,-1,1")
    instance, audit = import_philly(path, restart_s=5.0)
    assert audit[:5] == [
        "Rows read: 5.",
        "Rows with a duration of 0 s or less, left out: 2.",
        "Rows equal to an earlier row, kept as jobs of their own: 1.",
        "Rows whose gpu_time is not duration x num_gpus, which are believed: 1.",
        "Virtual clusters merged into one cluster, quotas unknown: 3.",
    ]
    assert [job.restart_s for job in instance.jobs] == [5.0, 5.0, 5.0]
    assert not any("restart" in sentence for sentence in audit)


def test_the_cluster_has_the_average_demand(tmp_path: Path) -> None:
    """By hand: 20 jobs of 95 GPU-seconds in the 190 s between the first and the last arrival are 10 GPUs, so 16."""
    path = philly_file(tmp_path, *(f"00:{10 * n // 60:02}:{10 * n % 60:02},95,1" for n in range(20)))
    instance, audit = import_philly(path)
    assert instance.units == 16
    assert "The jobs ask for 10.0 GPUs on average over 190 s of arrivals." in audit
    assert "The cluster is given 16 GPUs: that, rounded up to a multiple of 8." in audit
    given, audit = import_philly(path, gpus=3)
    assert (given.units, given.name) == (3, "philly-20x3")
    assert "The jobs ask for 10.0 GPUs on average over 190 s of arrivals." in audit
    assert not any("cluster is given" in sentence for sentence in audit)
    (warning,) = [sentence for sentence in audit if sentence.startswith("Warning: ")]
    assert warning.startswith("Warning: the jobs ask for 333 % of the 3 GPUs while they arrive;")
    assert not any("Warning" in sentence for sentence in import_philly(path)[1] + import_philly(path, gpus=10)[1])


def test_the_cluster_is_no_larger_than_all_jobs_ask_for(tmp_path: Path) -> None:
    """Jobs that arrive at once, or long jobs in a short window."""
    for last in ("00:00:00", "00:00:01"):
        instance, audit = import_philly(philly_file(tmp_path, "00:00:00,9000,8", f"{last},9000,4"))
        assert instance.units == 16
        assert any(sentence.startswith("All jobs together ask for 12 GPUs, no more than") for sentence in audit)


def test_philly_windows(tmp_path: Path) -> None:
    """From is kept, to is not; arrivals are relative to from, and the average is over the window."""
    path = philly_file(tmp_path, "00:00:00,60,1", "00:01:00,60,1", "00:02:00,60,1", "00:03:00,60,1")
    instance, audit = import_philly(path, from_="2017-10-01T00:00:30", to="2017-10-01T00:02:00")
    assert [(job.id, job.arrival_s) for job in instance.jobs] == [("j0", 30.0)]
    assert "Jobs that arrive outside the window, left out: 3." in audit
    assert "The jobs ask for 0.7 GPUs on average over 90 s of arrivals." in audit
    assert len(import_philly(path, from_="2017-10-01", to="2017-10-02")[0].jobs) == 4
    assert [job.arrival_s for job in import_philly(path, to="2017-10-01 00:01:01")[0].jobs] == [0.0, 60.0]


@pytest.mark.parametrize(
    ("from_", "to", "message"),
    [
        ("soon", None, "from: found 'soon', allowed: a date or time"),
        (None, "2017-10-01T00:00:00Z", "to: found '2017-10-01T00:00:00Z', allowed: .*no time zone"),
        ("2017-10-02", "2017-10-02", "to: found '2017-10-02', allowed: a time after from, '2017-10-02'"),
    ],
)
def test_a_window_that_cannot_be_is_misuse(tmp_path: Path, from_: str | None, to: str | None, message: str) -> None:
    """Before the file is read."""
    with pytest.raises(UsageError, match=message):
        import_philly(str(tmp_path / "absent"), from_=from_, to=to)


def test_gavel_takes_the_published_speeds(tmp_path: Path) -> None:
    """By hand: 11,935 steps of 5 sequences are an epoch of LM; a type of one GPU has epochs of 1,000 steps."""
    path = gavel_file(tmp_path, ("A3C", 2500, 160.0, 4), (LM, 23_870, 100.0, 1))
    instance, audit = import_gavel(path)
    assert [(job.id, job.arrival_s, job.epochs) for job in instance.jobs] == [("j0", 0.0, 2.0), ("j1", 60.0, 2.5)]
    assert tables(instance) == [{1: 109.328, 2: 64.2621, 4: 94.1872, 8: 17.0799}, {1: 139.358}]
    assert instance.name == "gavel-2x8"
    assert instance.source is not None and "stanford-futuredata/gavel (MIT)" in instance.source
    assert [sentence for sentence in audit if sentence.startswith("Jobs of types")] == [
        "Jobs of types measured on 1 GPU only: 1; an epoch is 1,000 steps by our definition.",
        "Jobs of types slower on some larger count, kept as published: 1.",
    ]
    assert any(sentence.startswith("Jobs whose type was not measured at their scale_factor: 1;") for sentence in audit)
    assert any(sentence.startswith("Rows earlier than the row above them: 1;") for sentence in audit)


@pytest.mark.parametrize("scale", [2, 3])
def test_gavel_counts_the_demand_at_the_scale_asked_for(scale: int, tmp_path: Path) -> None:
    """By hand: an epoch of LM on 2 GPUs is 128.5 GPU-seconds, 16 in 1500 s; a scale without speed counts as the next less."""
    path = gavel_file(tmp_path, *((LM, 11_935, 100.0 * n, scale) for n in range(16)))
    assert "The jobs ask for 1.4 GPUs on average over 1,500 s of arrivals." in import_gavel(path)[1]


def test_gavel_runs_on_other_gpus(tmp_path: Path) -> None:
    """Each with its own speeds; what does not fit on several K80s runs on one: 1000 steps at 0.347224 a second."""
    path = gavel_file(tmp_path, ("ResNet-50 (batch size 128)", 1000, 0.0, 1))
    (k80,), (p100,) = (import_gavel(path, gpu_type=gpu)[0].jobs for gpu in ("K80", "P100"))
    assert (k80.epochs, dict(k80.epoch_time_s)) == (1.0, {1: 2879.99})
    assert list(p100.epoch_time_s) == [1, 2, 4, 8]
    with pytest.raises(UsageError, match="gpu_type: found 'A100', allowed: V100, P100, K80"):
        import_gavel(path, gpu_type="A100")


@needs_data
def test_the_whole_philly_trace() -> None:
    """All its GPU-seconds, and the figures that are known of it."""
    instance, audit = import_philly(str(DATA / "philly_jobs.csv"))
    assert (len(instance.jobs), instance.units, instance.jobs[0].arrival_s) == (82_247, 376, 0.0)
    assert "Rows equal to an earlier row, kept as jobs of their own: 65." in audit
    assert "Jobs on more GPUs than any table holds, with no other count: 3." in audit
    gpu_s = math.fsum(max(job.epoch_time_s) * job.epoch_time_s[max(job.epoch_time_s)] for job in instance.jobs)
    assert gpu_s / instance.jobs[-1].arrival_s == pytest.approx(374.237, abs=1e-3)


@needs_data
@pytest.mark.parametrize("gpu_type", GPU_TYPES)
def test_gavel_speeds_are_those_of_its_table(gpu_type: str) -> None:
    """Steps over steps per second, for every type and count but those of 0.0, which do not fit."""
    throughputs = json.loads((DATA / "gavel_simulation_throughputs.json").read_text())[gpu_type.lower()]
    rates = {key: entry["null"] for key, entry in throughputs.items() if entry["null"] > 0}
    ours = {
        f"('{name}', {count})": kind.epoch_steps / time
        for name, kind in job_types(gpu_type).items()
        for count, time in kind.epoch_time_s.items()
    }
    assert ours == pytest.approx(rates, rel=1e-5)


@needs_data
@pytest.mark.parametrize("gpu_type", GPU_TYPES)
@pytest.mark.parametrize(("name", "jobs"), [("msr_seed0_0e4a51", 1181), ("msr_seed0_103959", 986)])
def test_the_whole_gavel_traces(name: str, jobs: int, gpu_type: str) -> None:
    """Every job type of them has a speed on every type of GPU."""
    instance, audit = import_gavel(str(DATA / "gavel_traces" / f"{name}.trace"), gpu_type=gpu_type)
    assert len(instance.jobs) == jobs
    assert audit[0] == f"Rows read: {jobs:,}."
