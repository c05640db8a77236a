"""``dlsched import``: an instance from a public file, with its audit; and what importing dlsched itself loads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlsched.catalogue.sources import OPTIONS
from dlsched.traces import SOURCES
from dlsched.traces.instances import MAKERS

HEAVY = "pulp ortools pyomo pyscipopt highspy scipy.optimize matplotlib"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a table as PCS has them: 1000 and 600 us an iteration of 256 samples, 1,281,167 samples an epoch."""
    path = tmp_path / "speedups.csv"
    rows = "VggnetModel256,153740040 // 256,1,1000\nVggnetModel256,153740040 // 256,2,600\nToyModel,1 // 1,1,5\n"
    path.write_text("model,iters_expr,gpus,us_per_iter\n" + rows)
    return path


def test_the_instance_and_its_audit(cli: Any, trace: Path, tmp_path: Path) -> None:
    """By hand: 1281167 / 256 iterations of 1000 us are 5.00456 s; every audited sentence stands in ``source`` too."""
    ended = cli("import", trace, "--source", "pcs")
    assert ended.code == 0
    data = ended.json
    assert data["format"] == "dlsched/ring_allocation/1"
    assert [job["epoch_time_s"] for job in data["jobs"]] == [{"1": 5.00456, "2": 3.00274}]
    assert (data["jobs"][0]["epochs"], data["gpus"]) == (100.0, 4)
    sentences = ended.err.splitlines()
    assert all(sentence.startswith("audit: ") for sentence in sentences)
    assert all(sentence.removeprefix("audit: ") in data["source"] for sentence in sentences)
    assert any("ToyModel" in sentence for sentence in sentences)
    out = tmp_path / "instance.json"
    written = cli("import", trace, "--source", "pcs", "-o", out)
    assert (written.code, written.out, out.read_text(encoding="utf-8")) == (0, "", ended.out)
    assert cli("solve", out).code == 0


def test_gpus_and_epochs_are_taken(cli: Any, trace: Path) -> None:
    """As given, and no longer said to be assumed."""
    ended = cli("import", trace, "--source", "pcs", "--gpus", 7, "--epochs", 2.5)
    assert (ended.json["gpus"], ended.json["jobs"][0]["epochs"]) == (7, 2.5)
    assert "cluster is given" not in ended.err


@pytest.fixture
def philly(tmp_path: Path) -> Path:
    """Return a trace of two jobs, an hour apart."""
    path = tmp_path / "philly_jobs.csv"
    rows = "2017-10-01 01:00:00,60.0,2,120.0,a\n2017-10-01 00:00:00,3600.0,1,3600.0,a\n"
    path.write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + rows)
    return path


def test_a_job_trace_is_a_stream(cli: Any, philly: Path, tmp_path: Path) -> None:
    """Its options reach the instance, and the audit stands in ``source`` too."""
    ended = cli(
        "import", philly, "--source", "philly", "--restart", 10, "--from", "2017-10-01T00:30", "--to", "2017-10-02"
    )
    data = ended.json
    assert (ended.code, data["format"], data["units"]) == (0, "dlsched/elastic_stream/1", 8)
    (job,) = data["jobs"]
    assert (job["arrival_s"], job["restart_s"], job["epoch_time_s"]["2"]) == (1800.0, 10.0, 60.0)
    sentences = ended.err.splitlines()
    assert "audit: Jobs that arrive outside the window, left out: 1." in sentences
    assert all(sentence.removeprefix("audit: ") in data["source"] for sentence in sentences)
    assert list(cli("import", philly, "--source", "philly", "--max-gpus", 4).json["jobs"][0]["epoch_time_s"]) == [
        "1",
        "2",
        "4",
    ]
    out = tmp_path / "stream.json"
    assert cli("import", philly, "--source", "philly", "--gpus", 3, "-o", out).code == 0
    assert json.loads(out.read_text(encoding="utf-8"))["name"] == "philly-2x3"


def test_gavel_on_other_gpus(cli: Any, tmp_path: Path) -> None:
    """V100 unless told."""
    path = tmp_path / "some.trace"
    path.write_text("A3C\trun\t--max-steps\t0\t1000\t0.0\t1\n")
    times = [
        cli("import", path, "--source", "gavel", *options).json["jobs"][0]["epoch_time_s"]["1"]
        for options in ((), ("--gpu-type", "K80"))
    ]
    assert times == [139.358, 290.802]


def test_job_traces_are_gangs(cli: Any, philly: Path, tmp_path: Path) -> None:
    """Each of the three; options reach the instance, and the audit stands in ``source`` too."""
    ended = cli(
        "import", philly, "--source", "philly-gangs", "--gpus", 16, "--from", "2017-10-01T00:30", "--to", "2017-10-02"
    )
    data = ended.json
    assert (ended.code, data["format"], len(data["servers"])) == (0, "dlsched/srpt_mapping/1", 2)
    (job,) = data["jobs"]
    assert (job["release_s"], job["group"], job["stages"][0]["replicas"]) == (1800.0, "a-2", 2)
    sentences = ended.err.splitlines()
    assert "audit: Jobs that arrive outside the window, left out: 1." in sentences
    assert all(sentence.removeprefix("audit: ") in data["source"] for sentence in sentences)
    gavel, tiresias = tmp_path / "some.trace", tmp_path / "tiresias_60_jobs.csv"
    gavel.write_text("A3C\trun\t--max-steps\t0\t1000\t0.0\t1\n")
    tiresias.write_text("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,2,5,606,vgg19,164,30\n")
    assert cli("import", gavel, "--source", "gavel-gangs").json["jobs"][0]["model"] == "ResNet-50"
    assert cli("import", tiresias, "--source", "tiresias").json["jobs"][0]["iterations"] == 606.0


@pytest.mark.parametrize(
    ("source", "option", "value", "message"),
    [
        ("pcs", "--from", "2017", "--from: found '2017', allowed: no such option for source pcs"),
        ("philly", "--gpu-type", "K80", "--gpu-type: found 'K80', allowed: no such option for source philly"),
        ("gavel", "--gpu-type", "A100", "--gpu-type: found 'A100', allowed: V100, P100, K80"),
        ("philly", "--max-gpus", "0", "--max-gpus: found 0, allowed: an integer >= 1"),
        ("philly", "--gpus", "0", "gpus: found 0, allowed: an integer >= 1"),
        ("philly", "--restart", "-1", "--restart: found -1.0, allowed: a number >= 0"),
        ("philly", "--restart", "inf", "--restart: found inf, allowed: a number >= 0"),
        ("philly-gangs", "--gpus", "12", "gpus: found 12, allowed: a multiple of 8"),
        ("pcs", "--epochs", "nan", "epochs: found nan, allowed: a number >= 0"),
        ("philly", "--from", "now", "--from: found 'now', allowed: a date or time"),
        ("gavel", "--to", "2017-10-01", "--to: found '2017-10-01', allowed: a number of seconds"),
        (
            "alibaba",
            "--gpus",
            "4",
            "source: found 'alibaba', allowed: pcs, gavel-speeds, adaptdl, philly, gavel, philly-gangs",
        ),
    ],
)
def test_an_option_that_does_not_fit_is_2(source: str, option: str, value: str, message: str, cli: Any) -> None:
    """One line names it, before the file is read."""
    ended = cli("import", "absent", "--source", source, option, value)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.line


SACCT = """JobIDRaw|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES
7|ann|gpu|COMPLETED|2025-03-01T00:00:00|2025-03-01T00:00:00|2025-03-01T01:00:00|3600|120|gres/gpu=8
8|=cmd()|gpu|FAILED|2025-03-01T00:10:00|2025-03-01T01:00:00|2025-03-01T01:30:00|1800|60|gres/gpu=4
"""


@pytest.fixture
def sacct(tmp_path: Path) -> Path:
    """Return two jobs of Slurm."""
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return path


def test_a_queue_and_what_happened(cli: Any, sacct: Path, tmp_path: Path) -> None:
    """By hand: they end after 3,600 and 5,400 s. The result is one that check and compare take; the audit is in ``source``."""
    out, result = tmp_path / "instance.json", tmp_path / "happened.json"
    ended = cli("import", sacct, "--source", "slurm", "--happened", result, "-o", out)
    assert (ended.code, ended.out) == (0, "")
    data = json.loads(out.read_text(encoding="utf-8"))
    assert [(job["id"], job["user"], job["release_s"]) for job in data["jobs"]] == [
        ("7", "ann", 0.0),
        ("8", "=cmd()", 600.0),
    ]
    assert all(sentence.removeprefix("audit: ") in data["source"] for sentence in ended.err.splitlines())
    checked = cli("check", out, result)
    assert (checked.code, "objective 9000.0 seconds" in checked.out) == (0, True)
    compared = cli("compare", out, "--methods", "fifo", "--solutions", result, "--json")
    rows = [row for row in compared.json if row["method"] in ("fifo", "what happened")]
    assert [row["objective"] for row in rows] == [9000.0, 9000.0]


def test_families_of_a_queue(cli: Any, sacct: Path, philly: Path, tmp_path: Path) -> None:
    """Each with its options; traces of simulators too."""
    stream = cli("import", sacct, "--source", "slurm", "--family", "elastic_stream", "--estimates", "--restart", 5).json
    assert [(job["epochs"], job["stops_at"], job["restart_s"]) for job in stream["jobs"]] == [
        (7200.0, 0.5, 5.0),
        (3600.0, 0.5, 5.0),
    ]
    one = cli(
        "import", sacct, "--source", "slurm", "--states", "failed, timeout", "--gpus", 6, "--gpus-of-node", 4
    ).json
    assert ([job["id"] for job in one["jobs"]], [each["gpus"] for each in one["servers"]]) == (["8"], [4, 2])
    told = cli("import", sacct, "--source", "slurm", "--estimates", "--communication", "published").json
    assert all(job["predicted_iterations"] == pytest.approx(2 * job["iterations"], rel=1e-5) for job in told["jobs"])
    late = cli("import", sacct, "--source", "slurm", "--from", "2025-03-01T00:30", "--carried").json
    assert [(job["id"], job["iterations"]) for job in late["jobs"]] == [("7", 1800.0), ("8", 1800.0)]
    gangs = cli("import", philly, "--source", "philly", "--family", "srpt_mapping").json
    assert [job["iterations"] for job in gangs["jobs"]] == [3600.0, 60.0]
    same = cli("import", philly, "--source", "philly", "--family", "elastic_stream")
    assert same.out == cli("import", philly, "--source", "philly").out
    table = tmp_path / "jobs.csv"
    table.write_text("submit;n;run_s\n0;2;60\n")
    mapped = cli(
        "import", table, "--source", "csv", "--map", "arrival=submit,gpus=n,duration=run_s", "--delimiter", ";"
    ).json
    assert mapped["jobs"][0]["iterations"] == 60.0


def test_slices_of_a_queue(cli: Any, sacct: Path) -> None:
    """Left out by default, as in every command; or on a GPU each."""
    rows = sacct.read_text(encoding="utf-8").splitlines()
    sacct.write_text(
        "\n".join([*rows, rows[1].replace("gres/gpu=", "gres/gpu:a100_1g.5gb=").replace("7|", "77|", 1)]) + "\n"
    )
    out, whole = (
        cli("import", sacct, "--source", "slurm"),
        cli("import", sacct, "--source", "slurm", "--slices", "whole"),
    )
    assert (len(out.json["jobs"]), len(whole.json["jobs"])) == (len(rows) - 1, len(rows))
    assert "audit: Jobs on parts of GPUs (slices), left out, their GPU time counted by their part: 1." in out.err
    assert "audit: Jobs on parts of GPUs (slices), with a whole GPU for each part: 1." in whole.err


def test_what_happened_may_not_be_known(cli: Any, sacct: Path, philly: Path, tmp_path: Path) -> None:
    """Then nothing is written: code 3, or 2 where no trace is read as a queue."""
    result = tmp_path / "happened.json"
    ended = cli("import", sacct, "--source", "slurm", "--gpus", 4, "--from", "2025-03-01T00:05", "--happened", result)
    assert ended.code == 0
    ended = cli(
        "import", philly, "--source", "philly", "--family", "srpt_mapping", "--happened", tmp_path / "other.json"
    )
    assert (ended.code, ended.out) == (3, "")
    assert "What really happened is unknown: 2 of 2 jobs have no start." in ended.line
    ended = cli("import", philly, "--source", "philly", "--happened", tmp_path / "other.json")
    assert (ended.code, ended.out) == (2, "")
    assert "source: found 'philly', allowed: a source that is read as a queue" in ended.line
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("slurm", ("--family", "async"), "family: found 'async', allowed: srpt_mapping, elastic_stream"),
        ("slurm", ("--scaling", "own"), "scaling: found 'own', allowed: no such option for family srpt_mapping"),
        ("slurm", ("--epochs", "5"), "epochs: found 5.0, allowed: no such option for source slurm"),
        ("slurm", ("--gpu-resource", "x"), "--gpu-resource: found 'x', allowed: no such option for source slurm"),
        ("slurm", ("--gpus-of-node", "0"), "--gpus-of-node: found 0, allowed: an integer >= 1"),
        ("slurm", ("--communication", "some"), "communication: found 'some', allowed: none, published"),
        ("slurm", ("--from", "noon"), "--from: found 'noon', allowed: a date or time"),
        ("philly", ("--states", "a"), "states: found 'a', allowed: no such option for source philly"),
        ("philly", ("--slices", "whole"), "slices: found 'whole', allowed: no such option for source philly"),
        ("slurm", ("--slices", "half"), "slices: found 'half', allowed: leave-out, whole"),
        ("pcs", ("--family", "srpt_mapping"), "family: found 'srpt_mapping', allowed: no such option for source pcs"),
        ("csv", (), "--map: found nothing, allowed: which column is what, such as arrival=submit"),
    ],
)
def test_options_of_queues_that_do_not_fit(
    source: str, options: tuple[str, ...], message: str, cli: Any, sacct: Path
) -> None:
    """One line names each."""
    ended = cli("import", sacct, "--source", source, *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.line


def test_every_option_of_a_source_is_one_of_the_command() -> None:
    """And each is taken by some source."""
    taken = {name for each in SOURCES.values() for family in (None, *MAKERS) for name in each.takes(family)}
    assert taken == {option.python for option in OPTIONS.values()}


def test_a_window_without_jobs_is_3(cli: Any, philly: Path) -> None:
    """One line names the file."""
    ended = cli("import", philly, "--source", "philly", "--from", "2020-01-01")
    assert (ended.code, ended.out) == (3, "")
    assert str(philly) in ended.line


@pytest.mark.parametrize(
    "text", ["", "model,gpus\n", "model,iters_expr,gpus,us_per_iter\nVgg,1 // 1,1,-5\n", "\x00", "a\nb"]
)
def test_a_malformed_trace_is_3(text: str, cli: Any, tmp_path: Path) -> None:
    """One line names the file."""
    path = tmp_path / "speedups.csv"
    path.write_text(text)
    ended = cli("import", path, "--source", "pcs")
    assert (ended.code, ended.out) == (3, "")
    assert str(path) in ended.line


def test_a_trace_that_is_no_text_is_3(cli: Any, tmp_path: Path) -> None:
    """For each kind of file."""
    path = tmp_path / "speedups.csv"
    path.write_bytes(b"\xff\xfe\x00")
    for source in SOURCES:
        options = ("--map", "arrival=a,gpus=b,duration=c") if source == "csv" else ()
        ended = cli("import", path, "--source", source, *options)
        assert (ended.code, ended.out) == (3, ""), source
        assert str(path) in ended.line, source


@pytest.mark.parametrize("code", ["import dlsched", "from dlsched.cli import run; assert run(['--help']) == 0"])
def test_no_solver_is_loaded_before_it_is_used(code: str) -> None:
    """Importing dlsched and reading its help stay quick."""
    script = f"import sys; {code}; print([name for name in {HEAVY.split()} if name in sys.modules], file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "[]\n")


def test_the_module_is_the_program(program: Any, cli: Any) -> None:
    """``python -m dlsched`` does what ``dlsched`` does, and calls itself so."""
    ended = program("--version")
    assert (ended.code, ended.out, ended.err) == (0, cli("--version").out, "")
    assert program("--help").out == cli("--help").out
