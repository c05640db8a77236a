"""``--methods file.py:function`` and ``package.module:Policy``: run beside ours, judged by the checker, their errors located."""

from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import UsageError, elastic_stream, ring_allocation, write
from dlsched.own_methods import find_method_of_user

MINE = '''
"""Heuristics of mine."""
from dlsched import ring_allocation

def smallest(instance):
    print("noise")
    return ring_allocation.Allocation({job.id: instance.counts(place)[0] for place, job in enumerate(instance.jobs)})

def as_data(instance):
    return {"gpus": {job.id: instance.counts(place)[0] for place, job in enumerate(instance.jobs)}}

def bare(instance):
    return {"solution": as_data(instance), "method": "x"}

def none(instance):
    return None

def greedy(instance):
    return {"gpus": {job.id: 99 for job in instance.jobs}}

def shapeless(instance):
    return [1, 2]

def broken(instance):
    return 1 / 0

def leaves(instance):
    raise SystemExit("bye\\n\\x1b[2J")

def two(instance, another):
    return None

def endless(instance, tick):
    while True:
        tick()

number = 3

class ShortestFirst:
    clairvoyant = False

    def decide(self, view):
        free, answer = view.units, {}
        for job in sorted(view, key=lambda job: view.time_left_s(job, view.allowed(job)[-1])):
            fitting = [count for count in view.allowed(job) if count <= free]
            answer[job] = fitting[-1] if fitting else 0
            free -= answer[job]
        return answer

class Dreamer(ShortestFirst):
    def decide(self, view):
        return {job: 10**6 for job in view}

class Broken(ShortestFirst):
    def decide(self, view):
        raise KeyError("lost")

def policy_of(instance):
    return ShortestFirst()
'''
LINE = {
    name: index
    for index, text in enumerate(MINE.splitlines(), 1)
    for name in ("1 / 0", "raise Sys", "lost")
    if name in text
}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file, in the folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """The example of elastic_stream, of which the quickstart's policy makes 19.6 s by hand."""
    path = tmp_path / "stream.json"
    write(elastic_stream.example(), path)
    return path


@pytest.mark.parametrize("name", ["smallest", "as_data", "bare"])
def test_a_function_is_a_heuristic(name: str, cli: Any, example: Path, mine: Path, tmp_path: Path) -> None:
    """On one GPU each, by hand 22090 + 4525018.1; what it prints is not on standard output, and check takes its result."""
    for text in (f"{mine}:{name}", f"mine:{name}", f"mine.py:{name}"):
        ended = cli("compare", example, "--methods", f"exact,{text}", "--json")
        assert (ended.code, ended.err) == (
            0,
            "",
        )  # its process prints on the standard error of this one, not on sys.stderr
        row = ended.json[1]
        assert (row["method"], row["kind"], row["status"]) == (text, "heuristic", "feasible")
        assert row["objective"] == pytest.approx(4547108.1, rel=1e-12)
        assert row["ratio"] == pytest.approx(4547108.1 / 927118.96)
    out = tmp_path / "result.json"
    assert cli("solve", example, "--method", f"mine.py:{name}", "-o", out).code == 0
    assert cli("check", example, out).code == 0


@pytest.mark.parametrize("name", ["ShortestFirst", "policy_of"])
def test_a_policy_is_simulated(name: str, cli: Any, stream: Path, mine: Path) -> None:
    """A class, and a function that returns a policy."""
    row = cli("compare", stream, "--methods", f"exact,mine:{name}", "--json").json[1]
    assert (row["status"], row["objective"]) == ("feasible", pytest.approx(19.6))


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("broken", 2, f"mine.py, line {LINE['1 / 0']}: ZeroDivisionError: division by zero"),
        ("leaves", 2, f"mine.py, line {LINE['raise Sys']}: SystemExit: bye\\n\\x1b[2J"),
        ("two", 2, "TypeError: two() missing 1 required positional argument: 'another'"),
        ("greedy", 7, "its answer breaks choice[a]: 99 GPUs is no allowed count"),
        ("shapeless", 7, "its answer: solution: found a list, allowed: an object"),
        ("Dreamer", 2, "found a policy, allowed in ring_allocation: a function from an instance to a solution"),
    ],
)
def test_errors_are_located(name: str, code: int, said: str, cli: Any, example: Path, mine: Path) -> None:
    """In compare a row beside the others, in solve one line; no traceback."""
    ended = cli("solve", example, "--method", f"mine.py:{name}")
    assert (ended.code, ended.out) == (code, "")
    assert ended.line.startswith(f"dlsched: mine.py:{name}: ") and said in ended.line
    ended = cli("compare", example, "--methods", f"exact,mine.py:{name}", "--json")
    assert [row["method"] for row in ended.json] == ["exact", f"mine.py:{name}"]
    assert said.replace("\\n", "\n") in ended.json[1]["status"].replace("\\n", "\n")
    assert ended.code == (7 if code == 7 else 0)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("Dreamer", 7, "found 1000000 units"), ("Broken", 2, f"mine.py, line {LINE['lost']}: KeyError: 'lost'")],
)
def test_errors_of_policies_are_located(name: str, code: int, said: str, cli: Any, stream: Path, mine: Path) -> None:
    """What cannot be done is the checker's kind of failure, what is raised a wrong use."""
    ended = cli("solve", stream, "--method", f"mine.py:{name}")
    assert ended.code == code and said in ended.line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nosuch.py:f", "No such file or directory"),
        ("nosuch_package.module:f", "No module named 'nosuch_package'"),
        ("mine.py:nosuch", "allowed: a function or class that stands in mine.py"),
        ("mine.py:number", "allowed: a function or class that stands in mine.py"),
        ("wrong.py:f", "wrong.py, line 2: "),
        ("raises.py:f", "raises.py, line 1: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_imported_is_2(text: str, said: str, cli: Any, example: Path, mine: Path) -> None:
    """Before anything is run, in both commands."""
    Path("wrong.py").write_text("def f(instance):\nreturn 1\n")
    Path("raises.py").write_text("import nosuch_package\n")
    for arguments in (("solve", example, "--method", text), ("compare", example, "--methods", f"exact,{text}")):
        ended = cli(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.line


def test_none_is_no_answer_and_limits_are_kept(cli: Any, example: Path, mine: Path) -> None:
    """None is `no_solution`, exit 5; a loop that calls ``tick`` ends at the limit."""
    assert cli("solve", example, "--method", "mine.py:none").code == 5
    ended = cli("solve", example, "--method", "mine.py:endless", "--time-limit", "0.05", "--json")
    assert (ended.code, ended.json["status"]) == (5, "time_limit")


def test_from_python(mine: Path) -> None:
    """The record is a method like any other."""
    example = ring_allocation.example()
    result = dlsched.solve(example, method=find_method_of_user(ring_allocation.FAMILY, "mine:as_data"))
    assert (result.method, result.solution.gpus) == ("mine:as_data", {"a": 1, "b": 1})
    with pytest.raises(UsageError, match=r"nosuch"):
        find_method_of_user(ring_allocation.FAMILY, "nosuch:f")
