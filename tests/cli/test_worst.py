"""``dlsched worst``: the pinned JSON, the table, the file, proofs, one's own methods, refusals, Ctrl-C, progress."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

import dlsched
from dlsched.worst.judge import Judge

from .test_progress import on_a_terminal

WORST = ("worst", "ring_allocation", "--method", "doubling", "--jobs", 2)
MINE = """
def mine(instance):
    return {"gpus": {job.id: 1 for job in instance.jobs}}

def bad(instance):
    if instance.jobs[0].epoch_time_s[1] > 20:
        raise ZeroDivisionError("too slow")
    return mine(instance)

def greedy(instance):
    return {"gpus": {job.id: instance.gpus for job in instance.jobs}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with methods of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


def test_the_pinned_json(cli: Callable[..., Ended]) -> None:
    """The instance is whole, and solving it gives the ratio again; the same seed gives the same bytes, another one others."""
    ended = cli(*WORST, "--budget", 200, "--seed", 3, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    assert list(found)[:8] == [
        *("family", "method", "ratio", "reference_kind", "evaluations", "seed", "proven", "instance")
    ]
    assert (found["family"], found["method"], found["reference_kind"]) == ("ring_allocation", "doubling", "optimum")
    assert (found["seed"], found["proven"], found["ended"], found["failures"]) == (3, None, "budget", [])
    assert 100 < found["evaluations"] <= 200
    instance = dlsched.families.instance_from(found["instance"], "worst")
    answer, best = dlsched.solve(instance, method="doubling"), dlsched.solve(instance)
    assert found["ratio"] == pytest.approx(dlsched.ratio(answer.objective, best.objective))
    assert found["ratio"] > 1.2
    assert cli(*WORST, "--budget", 200, "--seed", 3, "--json").out == ended.out
    assert cli(*WORST, "--budget", 200, "--seed", 4, "--json").json["instance"] != found["instance"]


@pytest.mark.long
def test_doubling_on_17_gpus(cli: Callable[..., Ended]) -> None:
    """17/10 is the supremum of two jobs with convex tables; within 1 % of it is found, and can be read."""
    found = cli(*WORST, "--json").json
    assert 0.99 * 0.99 * 1.7 <= found["ratio"] <= 1.7 + 1e-9
    assert found["found"] == pytest.approx(1.7, rel=0.01)


def test_the_table_and_the_file(cli: Callable[..., Ended], here: Path) -> None:
    """The file says command and ratio and the proven optimum; the command in the table finds it again."""
    ended = cli(*WORST, "--gpus", 9, "--tables", "sublinear", "--budget", 100, "-o", "worst.json")
    assert (ended.code, ended.err) == (0, "")
    head, ratio, of, search, space, wider, again, *shown = ended.out.splitlines()
    assert head in ("doubling on ring_allocation: 1 job", "doubling on ring_allocation: 2 jobs")
    assert ratio.split()[0] == "ratio" and float(ratio.split()[1].rstrip(",")) > 1.05
    assert of.split()[0] == "of" and " optimum " in of
    assert "evaluations, seed 0" in search
    command = (
        "dlsched worst ring_allocation --method doubling --jobs 2 --gpus 9 --tables sublinear --budget 100 --seed 0"
    )
    assert again == f"  again    {command}"
    assert space == "  space    up to 2 jobs on 9 GPUs, sublinear tables on counts that are powers of two, 1 to 1000 s"
    assert wider == "  wider    --tables any, --counts all, --jobs, --gpus"
    instance = dlsched.read(here / "worst.json")
    assert instance.source.startswith(f"{command}: doubling 4")
    assert instance.gpus == 9
    assert dlsched.solve(instance).objective == instance.known.optimum
    assert shown[0] == "{" and '"name": "worst-doubling"' in shown[1]
    assert cli(*command.split()[1:], "-o", "again.json").code == 0
    assert (here / "again.json").read_bytes() == (here / "worst.json").read_bytes()


def test_the_file_on_standard_output(cli: Callable[..., Ended]) -> None:
    """Alone, JSON or not."""
    for more in ([], ["--json"]):
        assert cli(*WORST, "--budget", 20, "-o", "-", *more).json["name"] == "worst-doubling"


def test_without_bound(cli: Callable[..., Ended], here: Path) -> None:
    """Jobs that ask for more GPUs than there are, which is no answer: null."""
    (here / "none.py").write_text("def none(instance):\n    return None\n", encoding="utf-8")
    found = cli("worst", "ring_allocation", "--method", "none.py:none", "--budget", 30, "--json").json
    assert (found["ratio"], found["objective"], found["method"]) == (None, None, "none.py:none")
    said = cli("worst", "ring_allocation", "--method", "none.py:none", "--budget", 30).out.splitlines()
    assert said[1] == "  ratio    without bound"
    assert "no answer, optimum " in said[2]


def test_against_a_bound(cli: Callable[..., Ended]) -> None:
    """The ratio is at most what is said, and the instance's optimum is not known."""
    ended = cli(*WORST, "--against", "lagrange", "--budget", 60)
    assert ended.out.splitlines()[1].startswith("  ratio    <= 1.")
    found = cli(*WORST, "--against", "lagrange", "--budget", 60, "--json").json
    assert found["reference_kind"] == "bound" and "known" not in found["instance"]


def test_a_method_of_ones_own(cli: Callable[..., Ended], here: Path) -> None:
    """One GPU for every job: up to 16 times the optimum on 17 GPUs, where a job's speed is in proportion."""
    found = cli("worst", "ring_allocation", "--method", "mine.py:mine", "--budget", 600, "--json").json
    assert 15 <= found["ratio"] <= 16 + 1e-9
    assert (found["method"], found["instance"]["name"]) == ("mine.py:mine", "worst-mine")


def test_errors_of_ones_own_method_are_told_with_the_instance(cli: Callable[..., Ended], here: Path) -> None:
    """At once, once, on standard error; the search goes on, the exit code says it."""
    ended = cli("worst", "ring_allocation", "--method", "mine.py:bad", "--budget", 80, "--json")
    assert ended.code == 7
    assert ended.line == "dlsched: mine.py:bad: mine.py, line 7: ZeroDivisionError: too slow"
    (failure,) = ended.json["failures"]
    assert failure["message"] == ended.line.removeprefix("dlsched: ")
    assert dlsched.families.instance_from(failure["instance"], "failure").jobs[0].epoch_time_s[1] > 20
    ended = cli("worst", "ring_allocation", "--method", "mine.py:greedy", "--budget", 30)
    assert ended.code == 7 and ended.out == ""
    first, last = ended.err.splitlines()
    assert first == "dlsched: mine.py:greedy: its answer breaks choice[a]: 17 GPUs is no allowed count"
    assert last == f"{first} (and it answers on no instance that was drawn)"


def test_prove(cli: Callable[..., Ended], here: Path) -> None:
    """Two jobs on 9 GPUs: 3/2; the certificate is verified with the instance, which shows it."""
    words = ("--gpus", 9, "--budget", 60, "--prove", "--certificate", "proof.json", "-o", "worst.json", "--json")
    ended = cli("worst", "ring_allocation", "--method", "doubling", *words)
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    assert (found["proven"], found["ratio"]) == ("3/2", 1.5)
    assert found["found"] <= 1.5
    assert found["command"].endswith("--jobs 2 --gpus 9 --budget 60 --seed 0 --prove")
    assert found["proof"] == json.loads((here / "proof.json").read_text())
    assert cli("check", "worst.json", "proof.json").code == 0
    told = cli("worst", "ring_allocation", "--method", "doubling", "--gpus", 5, "--budget", 30, "--prove").out
    assert "  proven   1 job: at most 1, attained\n  proven   2 jobs: at most 5/4, attained\n" in told
    endless = ("--tables", "monotone", "--gpus", 5, "--budget", 30, "--prove")
    assert "  proven   2 jobs: without bound\n" in cli("worst", "ring_allocation", "--method", "marginal", *endless).out
    found = cli("worst", "ring_allocation", "--method", "marginal", *endless, "--json").json
    assert found["proven"] is None and found["proof"]["supremum"] is None
    assert [each["supremum"] for each in found["suprema"]] == [None, None]


def test_fewer_jobs_that_are_worse(cli: Callable[..., Ended], here: Path) -> None:
    """Doubling on 6 GPUs and all counts: 3/2 with one job, on 4 of 6 GPUs, and 5/4 with two; the largest is proven."""
    words = (
        "--gpus",
        6,
        "--counts",
        "all",
        "--budget",
        30,
        "--prove",
        "-o",
        "worst.json",
        "--certificate",
        "proof.json",
    )
    told = cli("worst", "ring_allocation", "--method", "doubling", *words).out
    assert told.startswith("doubling on ring_allocation: 1 job\n")
    assert "  proven   1 job: at most 3/2, attained\n  proven   2 jobs: at most 5/4, attained\n" in told
    assert cli("check", "worst.json", "proof.json").code == 0
    found = cli("worst", "ring_allocation", "--method", "doubling", *words, "--json").json
    assert (found["proven"], found["ratio"], found["proof"]["jobs"]) == ("3/2", 1.5, 1)
    one, two = found["suprema"]
    assert one == {"jobs": 1, "supremum": "3/2", "attained": True}
    assert two == {"jobs": 2, "supremum": "5/4", "attained": True}


def test_prove_async_sgd(cli: Callable[..., Ended], here: Path) -> None:
    """Marginal gain is optimal on all nodes; no option says so."""
    words = ("--gpus", 4, "--budget", 20, "--prove", "-o", "worst.json", "--certificate", "proof.json", "--json")
    found = cli("worst", "async_sgd", "--method", "marginal", *words).json
    assert (found["proven"], found["ratio"]) == ("1", 1.0)
    assert cli("check", "worst.json", "proof.json").code == 0


def test_a_limit_of_nodes_is_in_the_command(cli: Callable[..., Ended]) -> None:
    """Without it the search would not be the same."""
    found = cli(*WORST, "--gpus", 5, "--budget", 20, "--node-limit", 7, "--json").json
    assert found["command"].endswith("--jobs 2 --gpus 5 --node-limit 7 --budget 20 --seed 0")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("worst", "nosuch", "--method", "doubling"), 2, "family: found 'nosuch', allowed: ring_allocation"),
        (("worst", "ring_allocation", "--method", "nosuch"), 2, "method: found 'nosuch'"),
        (("worst", "ring_allocation", "--method", "nosuch.py:f"), 2, "nosuch.py:f: "),
        (("worst", "ring_allocation", "--method", "lagrange"), 2, "method: found 'lagrange', a bound"),
        ((*WORST[:4], "--prove", "--jobs", 0), 2, "jobs: found 0, allowed: an integer"),
        ((*WORST, "--prove", "--gpus", 0), 2, "gpus: found 0, allowed: an integer >= 1"),
        ((*WORST, "--against", "nosuch"), 2, "method: found 'nosuch'"),
        ((*WORST, "--budget", 0), 2, "budget: found 0, allowed: an integer >= 1"),
        ((*WORST, "--slots", 3), 2, "slots: found 3, allowed: no such option for ring_allocation"),
        ((*WORST, "--tables", "round"), 2, "tables: found 'round', allowed: any, monotone, sublinear, convex"),
        ((*WORST, "--preset", "nosuch"), 2, "preset: found 'nosuch'"),
        ((*WORST, "--time-limit", 0), 2, "before the time was up"),
        ((*WORST, "--counts", "all", "--gpus", 1001), 2, "gpus: found 1001 with all counts, allowed: at most 1000"),
        ((*WORST, "--certificate", "proof.json"), 2, "certificate: found a path, allowed: one with --prove"),
        ((*WORST, "-o", "no/such/folder.json"), 3, "no/such/folder.json: cannot be written"),
        (("worst", "ring_allocation", "--method", "equal", "--prove"), 2, "method: found 'equal'"),
        (("worst", "ring_allocation"), 2, "--method"),
    ],
)
def test_refusals(words: tuple[object, ...], code: int, said: str, cli: Callable[..., Ended], here: Path) -> None:
    """In one line, before anything is searched."""
    ended = cli(*words)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_a_time_limit_ends_a_huge_budget(cli: Callable[..., Ended]) -> None:
    """Exit 0 with the worst so far; it is said."""
    ended = cli(*WORST, "--budget", 10**12, "--time-limit", 0.5)
    assert ended.code == 0
    assert ended.out.splitlines()[3].endswith("seed 0, ended by a limit")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_keeps_the_worst(cli: Callable[..., Ended], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the 40th evaluation: exit 5, the file is there, and that it was interrupted is said."""
    count = Judge._count

    def press(judge: Judge) -> None:
        count(judge)
        if judge.evaluations == 40:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Judge, "_count", press)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us without
    try:
        ended = cli(*WORST, "-o", "worst.json", "--json")
    finally:
        signal.signal(signal.SIGINT, handler)
    assert ended.code == 5
    assert ended.line == "dlsched: interrupted; this is the worst instance so far"
    assert (ended.json["ended"], ended.json["evaluations"]) == ("interrupted", 40)
    assert dlsched.read(here / "worst.json").as_data() == ended.json["instance"]


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    """Ratio and evaluations on standard error; standard output stays JSON."""
    code, out, shown = on_a_terminal(*WORST, "--budget", 400, "--json")
    assert code == 0
    assert json.loads(out)["evaluations"] > 300
    assert "ring_allocation, doubling: ratio 1." in shown
    assert " of 400 evaluations" in shown


def test_help_names_the_options_of_the_families(cli: Callable[..., Ended]) -> None:
    """Each with its family."""
    said: Any = " ".join(cli("worst", "--help").out.split())
    assert "--counts X `powers` of two, or `all`; ring_allocation, elastic_stream" in said
    assert "--prove" in said


def test_a_reference_that_gains_nothing(cli: Callable[..., Ended], here: Path) -> None:
    """No ring at all is a reference of 0, and the ratio of everything else to it."""
    (here / "idle.py").write_text("def idle(instance):\n    return {'slots': []}\n", encoding="utf-8")
    words = ("--against", "idle.py:idle", "--utility", "capped", "--budget", 12, "--json")
    ended = cli("worst", "ring_embedding", "--method", "density", *words)
    assert (ended.code, ended.json["ratio"], ended.json["reference_kind"]) == (0, 0.0, "answer")
