"""``dlsched whatif``: from a dump to the page, policies of one's own, going on, wrong usage."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended
from evaluation.dumps import drawn, write_sacct, write_workloads

from dlsched import study
from dlsched.catalogue.sources import QUEUES, SOURCES
from dlsched.cli import study_runs as study_run

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: there is no page")
pytest.importorskip("jinja2", reason="Jinja2 is not installed: there is no page")

DOCS = Path(__file__).parents[2] / "docs"
GPUS = 32
JOBS = 60


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a dump of 60 jobs on 32 GPUs, and the policy of the documentation."""
    monkeypatch.chdir(tmp_path)
    write_sacct(tmp_path / "sacct.txt", JOBS, GPUS)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "whatif.md").read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "def smallest_first" in block)
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    return tmp_path


def column(ended: Ended, name: str) -> list[str]:
    """Mean waiting and flow time, and what was used in percent, of a policy in the table that is printed."""
    return next(
        line.rstrip(" %").split()[-3:] for line in ended.out.splitlines() if line.strip().startswith(f"{name} ")
    )


def test_from_a_dump_to_the_page_and_on(here: Path, cli: Callable[..., Ended]) -> None:
    """What happened is first come, first served, as the dump is; a second call computes nothing and writes the same page."""
    first = cli("whatif", "sacct.txt", "--source", "slurm", "--gpus", GPUS, "-o", "page.html", "--workers", "1")
    assert first.code == 0, first.err
    assert (
        first.out.startswith(f"On {GPUS} GPUs jobs waited ")
        and "is not explained: what happened less fifo in" in first.out
    )
    assert f"On {GPUS} GPUs, switching from fifo to " in first.out
    assert column(first, "what happened") == column(first, "fifo")
    waits_h = [(start - submit) / 3600 for submit, start, _, _, _ in drawn(JOBS, GPUS, 0.95)]
    assert float(column(first, "fifo")[0]) == pytest.approx(sum(waits_h) / JOBS, abs=0.006)
    assert f"audit: Jobs read: {JOBS}." in first.err and first.out.endswith("page: page.html\n")
    page = (here / "page.html").read_bytes()
    assert b"dlsched whatif sacct.txt --source slurm --gpus 32 -o page.html" in page
    again = cli("whatif", "sacct.txt", "--source", "slurm", "--gpus", GPUS, "-o", "page.html")
    assert (again.out, (here / "page.html").read_bytes()) == (first.out, page)


def test_a_policy_of_ones_own_is_compared(here: Path, cli: Callable[..., Ended]) -> None:
    """Ten lines, those of the documentation; its line is in the table, and its name on the page."""
    lines = [line for line in (here / "mine.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 12
    policies = "fifo,mine.py:smallest_first"
    ended = cli(
        *("whatif", "sacct.txt", "--source", "slurm", "--gpus", GPUS, "--policies", policies),
        *("-o", "page.html", "--workers", "1"),
    )
    assert ended.code == 0, ended.err
    mine, fifo = (float(column(ended, name)[0]) for name in ("mine.py:smallest_first", "fifo"))
    assert 0 <= mine < fifo
    assert "mine.py:smallest_first" in (here / "page.html").read_text(encoding="utf-8")


def test_sizes_windows_estimates_and_states(here: Path, cli: Callable[..., Ended]) -> None:
    """All options together; what users said is on the page as what policies know."""
    ended = cli(
        *("whatif", "sacct.txt", "--source", "slurm", "--gpus", "32,24", "--window", "6h", "--estimates"),
        *("--states", "completed", "--policies", "fifo,shortest-backfill", "--from", "2025-03-03T01:00:00"),
        *("-o", "page.html", "--workers", "1", "-s", "kept.sqlite", "--time-limit", "30"),
    )
    assert ended.code == 0, ended.err
    assert (here / "kept.sqlite").is_file() and "Waiting under" in ended.out
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "what users said their jobs take" in page and "24 GPUs</h2>" in page


def test_workloads_of_kueue_as_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Ended]
) -> None:
    """Namespaces are the users."""
    monkeypatch.chdir(tmp_path)
    write_workloads(tmp_path / "workloads.json", 40, 32)
    ended = cli(
        *("whatif", "workloads.json", "--source", "kueue", "--family", "elastic_stream", "--gpus", "32"),
        *("--policies", "fifo-fixed,srpt-fixed", "-o", "page.html", "--workers", "1"),
    )
    assert ended.code == 0, ended.err
    assert "user0" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_interrupted_it_goes_on(here: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before any cell has ended: exit code 5, no page, and what to do."""

    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study_run, "run_study", interrupted)
    ended = cli("whatif", "sacct.txt", "--source", "slurm", "--gpus", GPUS, "-o", "page.html")
    assert ended.code == 5 and "the same command goes on" in ended.err
    assert not (here / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--source", "nonsense"], 2, "source: found 'nonsense', allowed: philly, "),
        (["--source", "slurm", "--gpus", "4,x"], 2, "gpus: found '4,x', allowed: different integers >= 1"),
        (["--source", "slurm", "--gpus", "8,8"], 2, "gpus: found '8,8'"),
        (["--source", "slurm", "--policies", "nonsense"], 2, "policies: found"),
        (["--source", "slurm", "--policies", "bound"], 2, "policies: found 'bound', allowed: a policy"),
        (["--source", "slurm", "--window", "soon"], 2, "window: found"),
        (["--source", "slurm", "--from", "soon"], 2, "from: found 'soon'"),
        (["--source", "slurm", "--family", "async_sgd"], 2, "family: found 'async_sgd'"),
        (["--source", "slurm", "--jobs", "list.csv"], 2, "jobs: found"),
        (["--source", "slurm", "--nodes", "list.txt"], 3, "list.txt: cannot be read"),
        (["--source", "slurm", "--time-limit", "0"], 2, "time-limit: found 0"),
        (["--source", "slurm", "--scaling", "own"], 2, "scaling: found 'own'"),
        (["--source", "csv"], 2, "map: found nothing"),
        (["--source", "slurm", "--states", "NONE"], 3, "found no job"),
        (["--source", "slurm", "--from", "2031-01-01"], 3, "found no job"),
        (["--source", "slurm", "--workers", "0"], 2, "workers: found 0"),
        (["--source", "kueue"], 3, "sacct.txt"),
        (["--source", "slurm", "--delimiter", "||"], 2, "delimiter: found"),
        (["--source", "slurm", "-s", "page.html"], 2, "which --store names too, allowed: another file"),
    ],
)
def test_wrong_usage(here: Path, cli: Callable[..., Ended], words: list[str], code: int, said: str) -> None:
    """One line that says what was found; no page is begun."""
    ended = cli("whatif", "sacct.txt", *words, "-o", "page.html")
    assert (ended.code, ended.out) == (code, "") and said in ended.err, ended.err
    assert not (here / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--workers", "0"], 2, "workers: found 0"),
        (["--policies", "nonsense"], 2, "policies: found"),
        (["--policies", "fifo,gone.py:mine"], 2, "gone.py:mine"),
        (["--window", "soon"], 2, "window: found"),
        (["--gpus", "0"], 2, "gpus: found '0'"),
        (["-s", "nowhere/kept.sqlite"], 3, "nowhere"),
        (["-s", "mine.py"], 3, "mine.py"),
    ],
)
def test_refused_before_the_queue_is_read(
    here: Path, cli: Callable[..., Ended], words: list[str], code: int, said: str
) -> None:
    """A queue may take a minute to read: this one is not even there."""
    ended = cli("whatif", "gone.txt", "--source", "slurm", *words, "-o", "page.html")
    assert ended.code == code and said in ended.err and "gone.txt" not in ended.err, ended.err
    assert (here / "mine.py").read_text().lstrip().startswith(("def", "from", "import", '"""'))


def test_a_queue_from_standard_input(here: Path, cli: Callable[..., Ended], program: Callable[..., Ended]) -> None:
    """``-``: the same answer as of the file."""
    dump = (here / "sacct.txt").read_text(encoding="utf-8")
    given = ("--source", "slurm", "--gpus", GPUS, "--policies", "fifo", "--workers", "1")
    named = cli("whatif", "sacct.txt", *given, "-o", "page.html")
    piped = program("whatif", "-", *given, "-o", "piped.html", stdin=dump)
    assert piped.code == 0, piped.err
    assert piped.out.replace("piped.html", "page.html") == named.out and f"audit: Jobs read: {JOBS}." in piped.err
    assert "<bdi>standard input</bdi>" in (here / "piped.html").read_text(encoding="utf-8")


def test_files_that_are_not_there(here: Path, cli: Callable[..., Ended]) -> None:
    """The dump, and the folder of the page."""
    gone = cli("whatif", "gone.txt", "--source", "slurm", "-o", "page.html")
    assert gone.code == 3 and "gone.txt: cannot be read" in gone.err
    nowhere = cli("whatif", "sacct.txt", "--source", "slurm", "-o", "nowhere/page.html")
    assert nowhere.code == 3 and "nowhere" in nowhere.err
    nothing = cli("whatif", "sacct.txt", "--source", "slurm", "-o", "-")
    assert nothing.code == 2 and "store: found none" in nothing.err


def test_the_names_of_sources_are_those_of_the_readers() -> None:
    """They are known before readers are imported."""
    assert set(QUEUES) == {name for name, source in SOURCES.items() if source.reader}


def test_jobs_that_run_still_held_gpus(here: Path, cli: Callable[..., Ended]) -> None:
    """Of 8 GPUs one job that has not ended holds 7: what happened to the others is compared with nothing."""
    (here / "sacct.txt").write_text(
        "JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES\n"
        "1|r|RUNNING|2025-03-01T00:00:00|2025-03-01T00:00:00|Unknown|7200|9999|gres/gpu=7|gres/gpu=7\n"
        "2|a|COMPLETED|2025-03-01T00:00:00|2025-03-01T00:00:00|2025-03-01T01:00:00|3600|90|gres/gpu=1|gres/gpu=1\n"
        "3|b|COMPLETED|2025-03-01T00:00:10|2025-03-01T01:00:00|2025-03-01T01:10:00|600|90|gres/gpu=1|gres/gpu=1\n"
    )
    ended = cli("whatif", "sacct.txt", "--source", "slurm", "--gpus", "8", "-o", "page.html")
    assert ended.code == 0 and "switching from what happened" not in ended.out
    assert (
        "Jobs outside the comparison used 88 % of the GPU time of 8 GPUs; here they use none, so savings" in ended.out
    )


HEADER = "JobIDRaw|JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList"


def sacct(here: Path, *rows: str) -> None:
    """A dump of these rows; ``@H:M`` stands for that time of a day."""
    text = re.sub(r"@(\d\d:\d\d)", r"2025-03-01T\1:00", "\n".join([HEADER, *rows]) + "\n")
    (here / "sacct.txt").write_text(text, encoding="utf-8")


ASKED = ("whatif", "sacct.txt", "--source", "slurm", "-o", "page.html", "--workers", "1", "--policies", "fifo")


def test_a_failed_job_without_an_end_held_gpus_for_its_duration(here: Path, cli: Callable[..., Ended]) -> None:
    """A minute of four GPUs, of eight for ten hours: by hand a twelfth of a percent, not a half to the end of the file."""
    sacct(
        here,
        "1|1|ann|gpu|FAILED|@00:00|@00:00||60|90|gres/gpu=4|gres/gpu=4|n1",
        "2|2|bob|gpu|COMPLETED|@00:00|@00:00|@01:00|3600|90|gres/gpu=4|gres/gpu=4|n2",
        "3|3|bob|gpu|COMPLETED|@10:00|@10:00|@11:00|3600|90|gres/gpu=4|gres/gpu=4|n2",
    )
    ended = cli(*ASKED, "--gpus", "8", "--states", "COMPLETED")
    assert ended.code == 0 and "Jobs outside the instance used 0.1 % of its GPU time" in ended.err
    assert "no other policy would have beaten fifo" in ended.out and "outside the comparison" not in ended.out


def test_sizes_are_not_told_without_the_jobs_outside(here: Path, cli: Callable[..., Ended]) -> None:
    """What happened is not known, as three hold 12 of 8 GPUs; one that runs holds 3 of them, 38 %; both sentences say it."""
    sacct(
        here,
        "1|1|ann|gpu|RUNNING|@00:00|@00:00|Unknown|36000|900|gres/gpu=3|gres/gpu=3|n1",
        *(f"{n}|{n}|bob|gpu|COMPLETED|@00:00|@00:00|@01:00|3600|90|gres/gpu=4|gres/gpu=4|n2" for n in (2, 3, 4)),
        "5|5|bob|gpu|COMPLETED|@10:00|@10:00|@11:00|3600|90|gres/gpu=4|gres/gpu=4|n2",
    )
    ended = cli(*ASKED, "--gpus", "8,4")
    assert ended.code == 0 and "what happened" not in ended.out.partition("policy ")[2]
    assert (
        "Jobs outside the comparison used 38 % of the GPU time of 8 GPUs; here they use none, so savings" in ended.out
    )
    smaller = "on any of the smaller clusters. No GPUs are reserved for the jobs outside the comparison"
    assert f"{smaller}, which used 38 %" in ended.out


MIG = [
    f"{n}|{n}|u{n}|mig|COMPLETED|@00:00|@00:00|@04:00|14400|300|gres/gpu:a100_1g.5gb=1|gres/gpu:a100_1g.5gb=1|n1"
    for n in range(1, 15)
]


def test_slices_are_left_out_or_whole_and_both_are_said(here: Path, cli: Callable[..., Ended]) -> None:
    """14 MIG jobs side by side on 2 GPUs, beside two jobs of 2 GPUs: by hand they held half of 4 GPUs."""
    sacct(
        here,
        *MIG,
        "20|20|ann|gpu|COMPLETED|@00:00|@00:00|@04:00|14400|300|gres/gpu=2|gres/gpu=2|n2",
        "21|21|ann|gpu|COMPLETED|@01:00|@04:00|@05:00|3600|300|gres/gpu=2|gres/gpu=2|n2",
    )
    out = cli(*ASKED, "--gpus", "4,2", "--slices", "leave-out")
    assert out.code == 0, out.err
    assert "audit: Jobs on parts of GPUs (slices), left out, their GPU time counted by their part: 14.\n" in out.err
    assert "used 50.0 % of its GPU time" in out.err
    page = (here / "page.html").read_text(encoding="utf-8")
    assert (
        "outside the comparison, 14 jobs on parts of GPUs among them, used 50 % of the GPU time of 4 GPUs;" in out.out
    )
    assert "14 jobs on parts of GPUs among them" in page and "<dt>Parts of GPUs</dt>" in page
    assert column(out, "what happened")[0] == "1.50" and column(out, "fifo")[0] == "0"
    whole = cli(*ASKED, "--gpus", "4,2", "--slices", "whole", "-s", "whole.sqlite")
    assert "Jobs on parts of GPUs (slices), with a whole GPU for each part: 14.\n" in whole.err
    assert "14 jobs on parts of GPUs have a whole one for every part here" in whole.out
    assert "No schedule that gives every part of a GPU a whole one and keeps jobs in their pools" in whole.out
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "--slices whole" in page and "is given a GPU of its own" in page
    assert cli(*ASKED, "--slices", "some").code == 2
    sacct(here, *MIG)
    alone = cli(*ASKED, "--gpus", "2", "--slices", "leave-out")
    assert (
        alone.code == 3
        and "14 jobs, all on parts of GPUs, allowed: at least one on whole ones, or slices whole" in alone.err
    )


def test_jobs_take_their_parts(here: Path, cli: Callable[..., Ended]) -> None:
    """The same jobs: 14 sevenths fill 2 GPUs, beside the 2 of the others, of which one waits 3 h: a mean of 3 / 16."""
    sacct(
        here,
        *MIG,
        "20|20|ann|gpu|COMPLETED|@00:00|@00:00|@04:00|14400|300|gres/gpu=2|gres/gpu=2|n2",
        "21|21|ann|gpu|COMPLETED|@01:00|@04:00|@05:00|3600|300|gres/gpu=2|gres/gpu=2|n2",
    )
    out = cli(*ASKED, "--gpus", "4")
    assert out.code == 0, out.err
    assert "mig: Jobs on parts of GPUs (slices), each on its part: 14, which are 2.0 GPUs together.\n" in out.err
    assert "mig: Servers whose GPUs are assumed to be sliced as jobs need it: A100-40GB (1).\n" in out.err
    assert "on parts of GPUs" not in out.out
    # of 2 GPUs for 4 h 14 slots of 16 are used, of the others all
    for name in ("what happened", "fifo"):
        row = next(line.strip() for line in out.out.splitlines() if line.strip().startswith(f"{name} "))
        waits, _, used = row.removeprefix(name).split()[:3]
        assert (waits, used) == ("0.188", "94")


def test_limits_that_are_missing_are_medians(here: Path, cli: Callable[..., Ended]) -> None:
    """A week that one says stands for nobody else: of two that say nothing, one has its partition's median, one the file's."""
    sacct(
        here,
        *(
            f"{n}|{n}|ann|gpu|COMPLETED|@00:00|@00:00|@01:00|3600|{limit}|gres/gpu=1|gres/gpu=1|n1"
            for n, limit in enumerate((60, 90, 10080, ""), 1)
        ),
        "9|9|eve|other|COMPLETED|@00:00|@00:00|@01:00|3600||gres/gpu=1|gres/gpu=1|n1",
    )
    ended = cli(*ASKED, "--gpus", "8", "--estimates")
    assert ended.code == 0 and "for 2 jobs without a request, the median" in ended.out
    assert "audit: Jobs without a requested run time, given the median of their partition: 1.\n" in ended.err
    assert "nor has their partition any: given the median of the file: 1.\n" in ended.err
    assert "without a request, the median" in (here / "page.html").read_text(encoding="utf-8")


def test_limits_of_arrays_are_in_the_model_of_gangs(here: Path, cli: Callable[..., Ended]) -> None:
    """Two of three tasks ran one after the other, and the file says why: half an hour a job is the user's. Streams differ."""
    sacct(
        here,
        "8|7_0|ann|gpu|COMPLETED|@00:00|@00:00|@01:00|3600|90|gres/gpu=1|gres/gpu=1|n1",
        "9|7_1|ann|gpu|COMPLETED|@00:00|@01:00|@02:00|3600|90|gres/gpu=1|gres/gpu=1|n1",
        "7|7_[2%1]|ann|gpu|PENDING|@00:00|Unknown|Unknown|0|90||gres/gpu=1|None assigned",
    )
    ended = cli(*ASKED, "--gpus", "8")
    assert "Arrays with a stated concurrency limit: 1.\n" in ended.err
    assert "30 min on average. Of that, 30 min (100 %) is due to limits that users set themselves" in ended.out
    assert "(dependencies 0 min, begin times 0 min, arrays 30 min" in ended.out
    streams = cli(*ASKED[:-1], "fifo-fixed", "--gpus", "8", "--family", "elastic_stream", "-s", "streams.sqlite")
    assert "only so many may run at once (1 of 7), a limit that is not in the model: 2.\n" in streams.err
    assert "Concurrency limits of arrays are not modelled: 2 tasks." in streams.out


def test_pools_dependencies_and_json(here: Path, cli: Callable[..., Ended]) -> None:
    """Two partitions on nodes of their own: 2 GPUs full, 4 idle; one job waits for its dependency, one for GPUs."""
    head = HEADER.replace("Submit|", "Submit|Eligible|")
    rows = [
        "1|1|ann|a|COMPLETED|@00:00|@00:00|@00:00|@02:00|7200|200|gres/gpu=2|gres/gpu=2|n1",
        "2|2|bob|a|COMPLETED|@00:00|@00:00|@02:00|@03:00|3600|200|gres/gpu=2|gres/gpu=2|n1",
        "3|3|cid|b|COMPLETED|@00:00|@00:00|@00:00|@01:00|3600|200|gres/gpu=4|gres/gpu=4|n2",
        "4|4|cid|b|COMPLETED|@00:00|@04:00|@04:00|@05:00|3600|200|gres/gpu=1|gres/gpu=1|n2",
    ]
    sacct(here, *rows)
    text = (here / "sacct.txt").read_text(encoding="utf-8")
    (here / "sacct.txt").write_text(text.replace(HEADER, head), encoding="utf-8")
    ended = cli(*ASKED, "--json")
    data = json.loads(ended.out)
    assert data["format"] == "dlsched/whatif/1" and data["jobs"] == 4 and data["gpus"] == 6
    # mean waiting: 2 h for GPUs of one of four jobs, 4 h for a dependency of another
    assert data["waiting_s"] == {"happened": 5400.0, "usual": 5400.0, "fifo": 5400.0}
    assert (data["users_limits_s"], data["not_explained_s"], data["order_s"]) == (3600.0, 0.0, 0.0)
    # no job of cid ended when the fourth was ready
    assert (data["dependencies_s"], data["begin_times_s"], data["array_limits_s"]) == (0.0, 3600.0, 0.0)
    assert data["classes"] == []
    assert [(pool["name"], pool["gpus"], pool["jobs"], pool["usual_waiting_s"]) for pool in data["pools"]] == [
        ("a", 2, 2, 3600.0),
        ("b", 4, 2, 7200.0),
    ]
    assert data["largest_wait_s"] == {"happened": 14400.0, "usual": 14400.0}
    # pool a alone on 4 GPUs: its second job does not wait, b is as it was
    larger = json.loads(cli(*ASKED, "--json", "--gpus", "a=4", "-s", "pool.sqlite").out)
    assert [(each["gpus"], each["pools"]) for each in larger["clusters"]] == [
        (6, {"a": 2, "b": 4}),
        (8, {"a": 4, "b": 4}),
    ]
    assert [each["waiting_s"]["usual"] for each in larger["clusters"]] == [5400.0, 3600.0]
    assert any("1 h on 8 (a: 4)" in sentence for sentence in larger["sentences"])
    wrong = cli(*ASKED, "--gpus", "c=4", "-s", "wrong.sqlite")
    assert wrong.code == 2 and "gpus: found 'c=4', allowed: a number, or a pool and its GPUs, of a, b" in wrong.err
    halved = json.loads(cli(*ASKED, "--json", "--gpus", "6,12", "-s", "sizes.sqlite").out)
    assert [each["gpus"] for each in halved["clusters"]] == [6, 12]
    assert halved["clusters"][1]["waiting_s"]["usual"] == 3600.0  # with 4 GPUs in a nobody waits for one


def test_anonymous(here: Path, cli: Callable[..., Ended]) -> None:
    """No user and no job is named on the page or in the store; users are numbered by GPU time; the figures stay."""
    write_sacct(here / "sacct.txt", 24, GPUS)
    text = (here / "sacct.txt").read_text().replace("|user", "|secret")
    users = len({line.split("|")[1] for line in text.splitlines()[1:]})
    (here / "sacct.txt").write_text(f"{text}{text.splitlines()[1].rpartition('|')[0]}|secret\n")
    (here / "packed.txt").write_bytes(gzip.compress((here / "sacct.txt").read_bytes()))
    words = ("--source", "slurm", "--gpus", GPUS, "--policies", "fifo,shortest-backfill", "--workers", "1")
    named = cli("whatif", "sacct.txt", *words, "-o", "named.html")
    hidden = cli("whatif", "packed.txt", *words, "-o", "hidden.html", "--anonymous")
    assert hidden.code == 0 and hidden.out.replace("hidden.html", "named.html") == named.out
    page = (here / "hidden.html").read_text()
    assert "secret" in (here / "named.html").read_text() and "secret" not in page and "secret" not in hidden.err
    assert re.findall(r">(user \d+)<", page)[:users] == [f"user {place}" for place in range(1, users + 1)]
    assert "--anonymous" in page
    with study.open("hidden.study.sqlite") as kept:
        instance = kept.instance(next(iter(kept.rows())).key)
    assert {job.id for job in instance.jobs} == {f"job {place}" for place in range(1, 25)}
    assert {job.user for job in instance.jobs} == {f"user {place}" for place in range(1, users + 1)}
    assert "secret" not in instance.source and b"secret" not in (here / "hidden.study.sqlite").read_bytes()
