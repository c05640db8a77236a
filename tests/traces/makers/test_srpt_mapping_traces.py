"""Job traces as gangs: Philly, Gavel and Tiresias."""

from pathlib import Path
from typing import Any

import pytest

from dlsched.cluster.published import published_stages
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.checker import iteration_time
from dlsched.srpt_mapping.heuristics import PLACES
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import Servers
from dlsched.srpt_mapping.solution import Share
from dlsched.traces import import_gavel_gangs, import_instance, import_philly_gangs, import_tiresias
from dlsched.traces.makers.srpt_mapping import GAVEL_MODELS, MODELS_BY_SIZE, chain
from dlsched.traces.readers.simulators import TIRESIAS_MODELS, job_types
from tests.traces.drawn import gavel_file, philly_file, tiresias_file

DATA = Path(__file__).parents[3].parent / "shared" / "data"
MODELS = {model.model: model for model in published_stages()}
RESNET_S, VGG_S, VGG_BYTES = 0.220957, 0.240536, 4 * 138_357_544  # an iteration on a V100, and VGG's gradients
TIRESIAS_HEADER = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the raw data are not here")


def lengths_s(instance: Instance) -> list[float]:
    """Seconds of every job on the empty servers, by the better placement rule and the checker's own figures."""
    empty = Servers(instance)

    def seconds(job: Job, rule: Any) -> float:
        shares = [
            Share(stage, empty.names[server], count)
            for server, row in rule(job.graph, empty)
            for stage, count in enumerate(row)
            if count
        ]
        return job.iterations * iteration_time(instance, job, tuple(shares))

    return [min(seconds(job, rule) for rule in PLACES.values()) for job in instance.jobs]


def test_philly_jobs_are_gangs(tmp_path: Path) -> None:
    """By hand: 0.220957 s an iteration of ResNet-50; VGG-16 on two also sends its 553 MB once, at 1.5e11 B/s."""
    instance, audit = import_philly_gangs(philly_file(tmp_path, "00:01:00,220.957,1,b", "00:00:00.5,100,2,a"))
    first, second = instance.jobs
    assert [(job.id, job.release_s, job.group, job.user, job.model) for job in instance.jobs] == [
        ("j0", 0.0, "a-2", "a", "VGG-16"),
        ("j1", 59.5, "b-1", "b", "ResNet-50"),
    ]
    assert second.iterations == 1000.0
    assert first.iterations == pytest.approx(100 / (VGG_S + VGG_BYTES / 1.5e11), rel=1e-5)
    (stage,) = first.stages
    assert (stage.replicas, stage.compute_s, stage.output_bytes, stage.parameter_bytes) == (2, VGG_S, 0.0, VGG_BYTES)
    assert all(job.predicted_iterations is None for job in instance.jobs)
    assert (instance.name, instance.total_gpus) == ("philly-gangs-2x8", 8)
    assert instance.source == (
        "imported from philly_jobs.csv of petuum/adaptdl, branch osdi21-artifact (Apache-2.0), from "
        f"msr-fiddle/philly-traces (CC-BY 4.0). Audit: {' '.join(audit)}"
    )


def test_every_number_of_gpus_has_stages() -> None:
    """As few as fit on a server of 8 each, by hand; primes are a replica a stage, or one stage where blocks are too few."""
    cut = {gpus: (len(chain("BERT-large", gpus)), chain("BERT-large", gpus)[0].replicas) for gpus in (8, 12, 16, 128)}
    assert cut == {8: (1, 8), 12: (2, 6), 16: (2, 8), 128: (16, 8)}
    assert [len(chain("BERT-large", gpus)) for gpus in (13, 23, 29, 400)] == [13, 23, 1, 1]
    for model in {*MODELS_BY_SIZE, *GAVEL_MODELS.values(), *TIRESIAS_MODELS.values()}:
        for gpus in (*range(1, 34), 48, 64, 96, 97, 127, 128, 129):
            stages = chain(model, gpus)
            assert sum(stage.replicas for stage in stages) == gpus
            assert len(stages) <= len(MODELS[model].blocks)


def test_jobs_last_as_long_as_in_the_trace(tmp_path: Path) -> None:
    """On empty servers, by the checker: on one server, in pipelines over several, and in one wide stage."""
    path = philly_file(tmp_path, *(f"00:00:00,{1000 + 7 * gpus},{gpus},a" for gpus in (1, 3, 8, 12, 13, 24, 64, 97)))
    instance, audit = import_philly_gangs(path, gpus=128)
    asked = [job.gpus for job in instance.jobs]
    assert asked == [1, 3, 8, 12, 13, 24, 64, 97]
    assert lengths_s(instance) == pytest.approx([1000 + 7 * gpus for gpus in asked], rel=1e-5)
    assert "Jobs cut into pipelines, as few stages as fit on a server each: 4." in audit
    assert "Jobs on several servers whose model has too few blocks for that, which are one stage: 1." in audit


def test_a_job_shorter_than_an_iteration_runs_one(tmp_path: Path) -> None:
    """By hand: 0.2 s are less than the 0.220957 s of ResNet-50; exactly these are not."""
    instance, audit = import_philly_gangs(philly_file(tmp_path, "00:00:00,0.2,1,a", f"00:00:01,{RESNET_S},1,a"))
    assert [job.iterations for job in instance.jobs] == [1.0, 1.0]
    assert "Jobs shorter than an iteration, which run one: 1." in audit


def test_philly_audits_what_it_assumes(tmp_path: Path) -> None:
    """The rows as for streams; models by GPUs with their jobs, users, bandwidths."""
    path = philly_file(
        tmp_path, "00:00:02,9,1,a", "00:00:01,9,3,b", "00:00:01,9,4,b", "00:00:00,0,1,a", "00:00:03,9,1,"
    )
    instance, audit = import_philly_gangs(path)
    assert audit[:2] == ["Rows read: 5.", "Rows with a duration of 0 s or less, left out: 1."]
    assert "Rows earlier than the row above them: 1; the jobs were sorted by arrival." in audit
    (models,) = [sentence for sentence in audit if sentence.startswith("The trace names no model")]
    assert "ResNet-50 on 1 GPU (2 jobs), VGG-16 on up to 2 (0 jobs), ResNet-152 on up to 4 (2 jobs)" in models
    assert [(job.user, job.group) for job in instance.jobs][-1] == (None, None)
    assert "Jobs without a virtual cluster, which have no user and no group: 1." in audit
    assert any("1.5e+11 B/s inside" in sentence and "1.25e+10 B/s" in sentence for sentence in audit)


def test_the_cluster_is_of_servers_of_8(tmp_path: Path) -> None:
    """By hand: 20 jobs of 95 s in 190 s are 10 GPUs, so 16; no fewer than the largest job; or as given."""
    ones = [f"00:{10 * n // 60:02}:{10 * n % 60:02},95,1,a" for n in range(20)]
    instance, _ = import_philly_gangs(philly_file(tmp_path, *ones))
    assert [(server.id, server.gpus) for server in instance.servers] == [("s0", 8), ("s1", 8)]
    wide = philly_file(tmp_path, *ones, "00:03:10,1,20,a")
    assert import_philly_gangs(wide)[0].total_gpus == 24
    given, audit = import_philly_gangs(wide, gpus=16)
    assert (given.name, given.total_gpus, len(given.jobs)) == ("philly-gangs-21x16", 16, 21)
    assert "Jobs that need more GPUs than the cluster has, so that no schedule exists: 1." in audit


@pytest.mark.parametrize("gpus", [0, -8, 12, 65_544])
@pytest.mark.parametrize("load", [import_philly_gangs, import_gavel_gangs, import_tiresias])
def test_gpus_that_make_no_servers_are_misuse(load: Any, gpus: int, tmp_path: Path) -> None:
    """Before the file is read."""
    with pytest.raises(UsageError, match=f"gpus: found {gpus}, allowed: a multiple of 8, up to 65,536"):
        load(str(tmp_path / "absent"), gpus=gpus)


def test_vast_clusters_are_refused(tmp_path: Path) -> None:
    """A vast job with its file; many jobs unless a cluster is given."""
    path = philly_file(tmp_path, "00:00:00,9,65537,a")
    with pytest.raises(InputError, match="found a job on 65,537 GPUs, allowed: up to 65,536") as caught:
        import_philly_gangs(path)
    assert path in str(caught.value)
    path = philly_file(tmp_path, *["00:00:00,9,400,a"] * 200)
    with pytest.raises(InputError, match="found jobs that ask for 80,000 GPUs") as caught:
        import_philly_gangs(path)
    assert path in str(caught.value)
    assert len(import_philly_gangs(path, gpus=400)[0].jobs) == 200


def test_gavel_lengths_are_those_of_its_speeds(tmp_path: Path) -> None:
    """By hand: 1000 steps of A3C take 139.358 s, on whatever GPUs; 11,935 steps of LM are an epoch."""
    rows = [("LM (batch size 5)", 23_870, 0.0, 2), ("A3C", 1000, 10.0, 4), ("LM (batch size 5)", 11_935, 20.0, 3)]
    instance, audit = import_gavel_gangs(gavel_file(tmp_path, *rows))
    assert [(job.gpus, job.model, job.group, job.user) for job in instance.jobs] == [
        (2, "GPT 126M", "LM (batch size 5) on 2", None),
        (4, "ResNet-50", "A3C on 4", None),
        (3, "GPT 126M", "LM (batch size 5) on 3", None),
    ]
    assert lengths_s(instance) == pytest.approx([2 * 64.2621, 139.358, 64.2621], rel=1e-5)
    assert any(sentence.startswith("Jobs whose type was not measured at their scale_factor: 2;") for sentence in audit)
    assert any("A3C as ResNet-50 (1 jobs), LM as GPT 126M (2 jobs)." in sentence for sentence in audit)
    assert instance.name == "gavel-gangs-3x16"
    assert instance.source is not None
    assert instance.source.startswith("imported from some.trace of stanford-futuredata/gavel (MIT), lengths by its")


def test_every_job_type_of_gavel_has_a_model(tmp_path: Path) -> None:
    """Each that has a speed on V100."""
    path = gavel_file(tmp_path, *((kind, 10_000, 0.0, 1) for kind in job_types("V100")))
    assert len(import_gavel_gangs(path)[0].jobs) == len(job_types("V100"))


def test_tiresias_keeps_iterations_and_seconds(tmp_path: Path) -> None:
    """By hand: 500 iterations in 200 s are 0.4 s each, less what an all-reduce of 553 MB takes on four GPUs: 5.5 ms."""
    instance, audit = import_tiresias(tiresias_file(tmp_path, "4,7,500,vgg19,200", "1,3,600,resnet50,120"))
    first, second = instance.jobs
    assert (first.iterations, first.stages[0].compute_s, first.release_s) == (600.0, 0.2, 0.0)
    assert second.iterations == 500.0
    assert second.stages[0].compute_s == pytest.approx(0.4 - 1.5 * VGG_BYTES / 1.5e11, rel=1e-5)
    assert (second.model, second.group, second.user, second.gpus) == ("VGG-16", "vgg19 on 4", None, 4)
    assert lengths_s(instance) == pytest.approx([120.0, 200.0], rel=1e-5)
    assert any("resnet50 as ResNet-50 (1 jobs), vgg19 as VGG-16 (1 jobs)." in sentence for sentence in audit)
    assert not any("published seconds" in sentence for sentence in audit)


def test_tiresias_falls_back_to_published_seconds(tmp_path: Path) -> None:
    """Where the all-reduce alone takes longer than an iteration, or there are several stages: the length stays."""
    rows = ("8,0,10000,vgg16,50", "16,0,500,vgg16,200", "2,0,500,vgg16,200", "8,0,9,vgg16,0")
    instance, audit = import_tiresias(tiresias_file(tmp_path, *rows))
    assert [job.stages == chain("VGG-16", job.gpus) for job in instance.jobs] == [True, True, False]
    assert len(instance.jobs[1].stages) == 2
    assert lengths_s(instance) == pytest.approx([50.0, 200.0, 200.0], rel=1e-5)
    assert any(sentence.endswith("published seconds and fitting iterations count: 2.") for sentence in audit)
    assert "Rows with a duration of 0 s or less, left out: 1." in audit


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("philly-gangs", "timestamp\n2017-10-01\n", "line 1: missing column duration, num_gpus, gpu_time, cluster"),
        ("gavel-gangs", "A4C\trun\t-n\t0\t9\t0.0\t1\n", "line 1: job_type must be one that Gavel measured on V100"),
        ("tiresias", TIRESIAS_HEADER, "no row below the header"),
        ("tiresias", f"{TIRESIAS_HEADER}0,1,0,9,vgg16,1e305,3\n", "jobs"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, source: str, text: str, message: str) -> None:
    """As by the importers of streams, whose readers these are."""
    path = tmp_path / "jobs"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        import_instance(source, str(path))


@needs_data
def test_the_whole_philly_trace() -> None:
    """Every job, on what it asked for; the same demand as that of its streams."""
    instance, audit = import_philly_gangs(str(DATA / "philly_jobs.csv"))
    assert (len(instance.jobs), instance.total_gpus, len(instance.servers)) == (82_247, 376, 47)
    assert "Rows equal to an earlier row, kept as jobs of their own: 65." in audit
    assert "The jobs ask for 374.2 GPUs on average over 9,408,690 s of arrivals." in audit
    assert "Jobs cut into pipelines, as few stages as fit on a server each: 289." in audit
    assert sum(job.gpus == 1 for job in instance.jobs) == 76_627
    assert len({job.graph for job in instance.jobs}) == 10


@needs_data
@pytest.mark.parametrize(("name", "jobs", "gpus"), [("msr_seed0_0e4a51", 1181, 56), ("msr_seed0_103959", 986, 16)])
def test_the_whole_gavel_traces(name: str, jobs: int, gpus: int) -> None:
    """Every job type has a model."""
    instance, audit = import_gavel_gangs(str(DATA / "gavel_traces" / f"{name}.trace"))
    assert (len(instance.jobs), instance.total_gpus) == (jobs, gpus)
    assert audit[0] == f"Rows read: {jobs:,}."


@needs_data
def test_the_whole_tiresias_trace() -> None:
    """Every job keeps its iterations and lasts as long as it did."""
    path = DATA / "tiresias_60_jobs.csv"
    instance, audit = import_tiresias(str(path))
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert [(str(job.gpus), str(int(job.iterations))) for job in instance.jobs] == [(row[1], row[3]) for row in rows]
    assert lengths_s(instance) == pytest.approx([float(row[5]) for row in rows], rel=1e-4)
    assert (len(instance.jobs), instance.total_gpus, audit[0]) == (60, 16, "Rows read: 60.")
