"""``dlsched import`` and ``advise``: an audited instance of a public file, and one decision for a recorded queue."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "=HYPERLINK(1)\t<script>\x1b[31m"

DUMP = """\
JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList
1|ann|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|3600|120|gres/gpu=8|gres/gpu=8|gpu[1-2]
2|ann|RUNNING|2026-03-01T09:00:00|2026-03-01T09:30:00|Unknown|1800|60|gres/gpu=4|gres/gpu=4|gpu1
3|bob|RUNNING|2026-03-01T09:10:00|2026-03-01T09:40:00|Unknown|1200|120|gres/gpu=2|gres/gpu=2|gpu2
4|bob|PENDING|2026-03-01T09:20:00|Unknown|Unknown|0|600||gres/gpu=6|None assigned
5|eve|PENDING|2026-03-01T09:50:00|Unknown|Unknown|0|30||gres/gpu=2|None assigned
6|eve|PENDING|2026-03-01T10:00:00|Unknown|Unknown|0|30||gres/gpu=1|None assigned
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """At 10:00 two jobs hold six of eight GPUs, gpu1 whole and half of gpu2; one ends at 10:30, the other at 11:40."""
    path = tmp_path / "sacct.txt"
    path.write_text(DUMP, encoding="utf-8")
    return path


def test_from_standard_input_and_moments_as_they_are_read(program: Any, cli: Any, dump: Path) -> None:
    """The same actions; and where nobody is there, the error names a moment that ``--at`` takes."""
    named, piped = (
        cli("advise", dump, "--source", "slurm", *GIVEN, "--json"),
        program("advise", "-", "--source", "slurm", *GIVEN, "--json", stdin=DUMP),
    )
    assert piped.code == 0 and json.loads(piped.out)["file"] == "standard input"
    assert json.loads(piped.out)["actions"] == json.loads(named.out)["actions"]
    late = cli("advise", dump, "--source", "slurm", "--at", "2020-03-01T10:00:00", "--json")
    assert late.code == 3 and "at 2020-03-01T10:00:00, allowed: " in late.err
    moment = late.err.rstrip().removesuffix(".").split(" to ")[-1]
    assert cli("advise", dump, "--source", "slurm", "--gpus", 16, "--at", moment, "--json").code == 0


GIVEN = ("--gpus", 8, "--gpus-of-node", 4, "--at", "2026-03-01T10:00:00")


def test_actions_as_json(cli: Any, dump: Path) -> None:
    """By hand: of 2 free GPUs, first come first served with backfilling gives 5 two; at 10:30 4 has 4 + 2, and 6 waits for 3."""
    ended = cli("advise", dump, "--source", "slurm", *GIVEN, "--policy", "fifo-backfill", "--json")
    assert ended.code == 0
    data = ended.json
    now, half_past = "2026-03-01T10:00:00", "2026-03-01T10:30:00"
    assert data["actions"] == [
        {"job": "2", "action": "keep", "gpus": 4, "nodes": {"gpu1": 4}, "time": now},
        {"job": "3", "action": "keep", "gpus": 2, "nodes": {"gpu2": 2}, "time": now},
        {"job": "4", "action": "wait", "gpus": 6, "nodes": {}, "time": half_past},
        {"job": "5", "action": "start", "gpus": 2, "nodes": {"gpu2": 2}, "time": now},
        {"job": "6", "action": "wait", "gpus": 1, "nodes": {}, "time": "2026-03-01T11:40:00"},
    ]
    del data["actions"]
    said = data.pop("audit")
    assert data == {
        **{"format": "dlsched/advice/1", "source": "slurm", "file": str(dump), "family": "srpt_mapping"},
        **{"method": "fifo-backfill", "at": now, "gpus": 8, "free_gpus": 2},
    }
    assert [f"audit: {sentence}" for sentence in said] == ended.err.splitlines()
    assert "Jobs running at that moment: 2; waiting: 3." in said


def test_the_same_as_csv_and_table(cli: Any, dump: Path, tmp_path: Path) -> None:
    """Files hold all actions, the table what changes; the method has two names."""
    rows, whole = tmp_path / "actions.csv", tmp_path / "actions.json"
    command = ("advise", dump, "--source", "slurm", *GIVEN, "--method", "fifo-backfill")
    written = cli(*command, "-o", rows)
    assert (written.code, written.out) == (0, "")
    found = list(csv.DictReader(rows.read_text(encoding="utf-8").splitlines()))
    now = "2026-03-01T10:00:00"
    assert found[3] == {"job": "5", "action": "start", "gpus": "2", "nodes": "gpu2:2", "time": now}
    assert [row["action"] for row in found] == ["keep", "keep", "wait", "start", "wait"]
    assert cli(*command, "-o", whole, "--json").json == json.loads(whole.read_text(encoding="utf-8"))
    table = cli(*command)
    assert "GPUs free: 2 of 8" in table.out and "gpu2:2" in table.out and "gpu1:4" not in table.out
    assert table.out.splitlines()[-1].startswith("Jobs that change: 1; unchanged: 2; waiting: 2")


def test_the_latest_time_of_the_file_by_default(cli: Any, dump: Path) -> None:
    """Job 6 came at 10:00, the latest there is."""
    assert cli("advise", dump, "--source", "slurm", "--gpus", 8, "--json").json["at"] == "2026-03-01T10:00:00"


def test_other_families(cli: Any, dump: Path) -> None:
    """Counts for those that wait beside those that run; or for all, by a policy of one's own."""
    data = cli(
        "advise", dump, "--source", "slurm", *GIVEN, "--family", "ring_allocation", "--scaling", "own", "--json"
    ).json
    assert [each["action"] for each in data["actions"]] == ["keep", "keep", "wait", "start", "wait"]
    own = dump.with_name("own.py")
    own.write_text(
        "class Last:\n"
        "    clairvoyant = False\n\n"
        "    def decide(self, view):\n"
        "        last = max(view, default=None)\n"
        "        return {} if last is None else dict.fromkeys(view, 0) | {last: view.allowed(last)[-1]}\n"
    )
    command = (
        "advise",
        dump,
        "--source",
        "slurm",
        *GIVEN,
        "--family",
        "elastic_stream",
        "--movable",
        "--policy",
        f"{own}:Last",
    )
    found = {each["job"]: each["action"] for each in cli(*command, "--json").json["actions"]}
    assert found == {"2": "stop", "3": "stop", "4": "wait", "5": "wait", "6": "start"}


def test_hostile_names(cli: Any, tmp_path: Path) -> None:
    """As they are in JSON; in tables escaped; in CSV no formula."""
    path, rows = tmp_path / "jobs.csv", tmp_path / "out.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("name", "came", "began", "ended", "n", "where"), (HOSTILE, 0, 0, "", 1, "@n"), ("+b", 5, "", "", 1, "")]
        )
    mapping = "id=name,arrival=came,start=began,end=ended,gpus=n,nodes=where,state=n"
    command = ("advise", path, "--source", "csv", "--map", mapping, "--gpus", 2, "--policy", "fifo")
    ended = cli(*command, "--json", "-o", rows)
    assert ended.code == 0, ended.err
    first, second = ended.json["actions"]
    assert (first["job"], second["job"]) == (HOSTILE.strip(), "+b")
    text = rows.read_text(encoding="utf-8")
    assert "\x1b" not in text and "\x1b" not in ended.out
    cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t")]


def test_any_method_of_gangs(cli: Any, dump: Path, tmp_path: Path) -> None:
    """By hand: 5 and 6 for 30 min each, one now, one at 10:30, then 4 at 11:00 end 30 + 60 + 660 min after 10:00 in sum.

    With 4 at 10:30, beside which 6 has no room until 11:40, it is 30 + 630 + 130. A function of one's own starts the last to
    come first.
    """
    ended = cli("advise", dump, "--source", "slurm", *GIVEN, "--policy", "exact", "--json")
    assert ended.code == 0
    actions = {each["job"]: (each["action"], each["time"]) for each in ended.json["actions"]}
    assert actions["4"] == ("wait", "2026-03-01T11:00:00")
    assert sorted((actions["5"], actions["6"])) == [("start", "2026-03-01T10:00:00"), ("wait", "2026-03-01T10:30:00")]
    assert (actions["2"], actions["3"]) == (("keep", "2026-03-01T10:00:00"), ("keep", "2026-03-01T10:00:00"))
    (tmp_path / "mine.py").write_text(
        "from dlsched.srpt_mapping import dispatch\n"
        "from dlsched.srpt_mapping.placing import compact\n\n"
        "def last_first(instance):\n"
        "    count = len(instance.jobs)\n"
        "    return dispatch(instance, joins_s=[0.0] * count, keys=range(count, 0, -1), place=compact)\n"
    )
    own = cli("advise", dump, "--source", "slurm", *GIVEN, "--policy", f"{tmp_path / 'mine.py'}:last_first", "--json")
    assert own.code == 0, own.err
    actions = {each["job"]: (each["action"], each["time"]) for each in own.json["actions"]}
    assert actions["6"] == ("start", "2026-03-01T10:00:00") and actions["5"] == ("wait", "2026-03-01T10:30:00")


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--gpus", 4), 2, "gpus: found 4, allowed: at least 6"),
        (("--at", "soon"), 2, "at: found"),
        (("--at", "12"), 2, "at: found"),
        (("--family", "async_sgd"), 2, "family: found"),
        (("--policy", "nonsense"), 2, "method: found"),
        (("--movable",), 2, "movable: found"),
        (("--jobs", "n.csv"), 2, "jobs: found 'n.csv', allowed: no such option for source slurm"),
        (("--nodes", "n.txt"), 3, "n.txt: cannot be read: No such file or directory"),
        (("-o", "actions.txt"), 2, "-o: found 'actions.txt', allowed: a name that ends in .json or .csv"),
        (("-o", "nowhere/actions.csv"), 3, "nowhere/actions.csv: cannot be written"),
        (("--at", "2020-01-01"), 3, "found no job that runs or waits"),
    ],
)
def test_what_cannot_be_asked(cli: Any, dump: Path, more: tuple[object, ...], code: int, said: str) -> None:
    """Ends with the code of wrong usage or of bad input, in one line."""
    ended = cli("advise", dump, "--source", "slurm", *more)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.line


def test_files_and_sources(cli: Any, dump: Path, tmp_path: Path) -> None:
    """One that is not there, one that is no dump, a source that is no queue."""
    assert cli("advise", tmp_path / "none", "--source", "slurm").code == 3
    assert cli("advise", dump, "--source", "kueue").code == 3
    ended = cli("advise", dump, "--source", "gavel-speeds")
    assert (ended.code, ended.line.split(":")[1]) == (2, " --source")


def test_a_trace_that_does_not_say_when_jobs_ran(cli: Any, tmp_path: Path) -> None:
    """There is nothing to decide, and no instance of a moment."""
    path = tmp_path / "some.trace"
    path.write_text("A3C\trun\t--max-steps\t0\t1000\t0.0\t1\n")
    for command in (
        ("advise", path, "--source", "gavel", "--gpus", 1),
        ("import", path, "--source", "gavel", "--family", "ring_allocation"),
    ):
        ended = cli(*command)
        assert (ended.code, "found no job that says when it ran" in ended.line) == (3, True)


ARRAY = """\
JobIDRaw|JobID|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList
8|6_0|ann|RUNNING|2026-03-01T09:00:00|2026-03-01T09:30:00|Unknown|1800|60|gres/gpu=1|gres/gpu=1|n1
6|6_[1-3%2]|ann|PENDING|2026-03-01T09:00:00|Unknown|Unknown|0|60||gres/gpu=1|None assigned
7|7_[0-9%2]|bob|PENDING|2026-03-01T09:10:00|Unknown|Unknown|0|60||gres/gpu=1|None assigned
9|9|eve|PENDING|2026-03-01T09:20:00|Unknown|Unknown|0|60||gres/gpu=1|None assigned
11|11|m|RUNNING|2026-03-01T09:00:00|2026-03-01T09:30:00|Unknown|1800|60|gres/gpu:a100_3g.20gb=1|gres/gpu:a100_3g.20gb=1|n2
12|12|m|RUNNING|2026-03-01T09:00:00|2026-03-01T09:30:00|Unknown|1800|90|gres/gpu:a100_4g.20gb=1|gres/gpu:a100_4g.20gb=1|n2
"""


@pytest.mark.parametrize("family", ["srpt_mapping", "elastic_stream", "ring_allocation"])
def test_arrays_and_slices(cli: Any, tmp_path: Path, family: str) -> None:
    """Of twenty GPUs one is held and one has slices; array 6 starts one task beside the one that runs, 7 two, and 9 starts."""
    path = tmp_path / "sacct.txt"
    path.write_text(ARRAY, encoding="utf-8")
    command = ("advise", path, "--source", "slurm", "--gpus", 20, "--family", family, "--json")
    data = cli(*command).json
    assert data["free_gpus"] == 18
    assert [each["job"] for each in data["actions"] if each["action"] == "start"] == ["6_1", "7_0", "7_1", "9"]
    waiting = ["6_2", "6_3", *(f"7_{n}" for n in range(2, 10))]
    assert [each["job"] for each in data["actions"] if each["action"] == "wait"] == waiting
    assert all(each["time"] is None for each in data["actions"] if each["action"] == "wait")
    said = "Array tasks held back by their array's concurrency limit (2 of 6, 2 of 7)"
    assert any(each.startswith(said) and each.endswith(": 10.") for each in data["audit"])
    assert any("GPUs on which jobs on parts of GPUs run" in each and each.endswith(": 1.") for each in data["audit"])
    whole = cli(*command, "--slices", "whole").json
    assert whole["free_gpus"] == 17 and [each["job"] for each in whole["actions"]][:3] == ["8", "11", "12"]
    assert cli(*command, "--slices", "none").code == 2


LEFT_OUT = """\
JobIDRaw|JobID|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList
1|1|a|RUNNING|2026-03-01T09:00:00|2026-03-01T09:00:00|Unknown|3600|90|gres/gpu=3|gres/gpu=3|n1
2|2|a|RUNNING|2026-03-01T09:30:00|2026-03-01T10:00:00|Unknown|0|60|gres/gpu:a100_3g.20gb=1|gres/gpu:a100_3g.20gb=1|n1
3|3|b|FAILED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:50:00|3000|90|gres/gpu=2|gres/gpu=2|n2
4|4|b|PENDING|2026-03-01T09:40:00|Unknown|Unknown|0|60||gres/gpu=5|
5|5|b|PENDING|2026-03-01T09:45:00|Unknown|Unknown|0|60||gres/gpu=4|
"""


@pytest.mark.parametrize(
    ("family", "policy"),
    [
        ("srpt_mapping", "shortest-backfill"),
        ("srpt_mapping", "exact"),
        ("ring_allocation", "exact"),
        ("elastic_stream", "marginal"),
    ],
)
def test_jobs_left_out_hold_their_gpus(cli: Any, tmp_path: Path, family: str, policy: str) -> None:
    """By hand: three GPUs of job 1, one of the slice; of eight four are free, too few for job 4 until 1 ends, and 5 starts.

    Ten minutes before its end job 3 held two more.
    """
    path = tmp_path / "left-out.txt"
    path.write_text(LEFT_OUT, encoding="utf-8")
    asked = ("advise", path, "--source", "slurm", "--gpus", 8, "--states", "PENDING", "--family", family, "--json")
    asked += ("--scaling", "own") if family != "srpt_mapping" else ("--gpus-of-node", 4)
    ended = cli(*asked, "--policy", policy)
    assert (ended.code, ended.json["free_gpus"]) == (0, 4)
    assert {each["job"]: each["action"] for each in ended.json["actions"]} == {"4": "wait", "5": "start"}
    assert "GPUs of jobs that are left out, occupied until these jobs end: 3." in ended.json["audit"]
    ended = cli(*asked, "--policy", policy, "--at", "2026-03-01T09:46:00")
    if family == "ring_allocation":  # which gives something to every job
        assert (ended.code, ended.out) == (2, "")
        assert ended.line.startswith(
            "dlsched: --gpus: found 8, allowed: at least 9, the smallest count of any job, beside"
        )
    else:
        assert ended.json["free_gpus"] == 3
