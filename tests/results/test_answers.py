"""The one judge of foreign answers: what it takes, and in which words it refuses everything else, wherever it is asked."""

import json
from pathlib import Path

import pytest

import dlsched
from dlsched import DlschedError, PolicyError, ring_allocation
from dlsched.core.family import Method
from dlsched.own_methods import find_method_of_user
from dlsched.results.answers import UnreadableAnswer, claim_of_text, judge, status_of_error
from dlsched.results.reading import Claim
from dlsched.study.cells.cell import CellEnded
from dlsched.study.cells.foreign_methods import run_command

FAMILY = ring_allocation.FAMILY
INSTANCE = ring_allocation.example()
SOLUTION = {"gpus": {job.id: 1 for job in INSTANCE.jobs}}
COST = FAMILY.objective(INSTANCE, FAMILY.read_solution(SOLUTION, INSTANCE))
GREEDY = {"gpus": {job.id: INSTANCE.gpus for job in INSTANCE.jobs}}

REFUSED = {
    "other": ({"cpus": {"a": 1}}, PolicyError, "its answer: "),
    "breaks": (GREEDY, PolicyError, "its answer breaks choice[a]: 6 GPUs is no allowed count"),
    "lies": ({"solution": SOLUTION, "objective": COST / 2}, PolicyError, f"objective: {COST / 2!r} is claimed, it is {COST!r}"),
    "list": ([1, 2], UnreadableAnswer, "its answer: "),
    "number": (3, UnreadableAnswer, "its answer: "),
    "object": (object(), UnreadableAnswer, "its answer: found object, allowed: a solution, the data of one, or None"),
    "empty result": ({"solution": None}, UnreadableAnswer, "its answer: found NoneType, allowed: a solution, the data"),
}  # fmt: skip


def judged(answer: object) -> dlsched.Result:
    """What comes of a method that hands an answer to the judge."""
    method = Method("own", "heuristic", lambda instance, search: judge(answer, FAMILY, instance, search, "own"))
    return FAMILY.solve(INSTANCE, method=method)


@pytest.mark.parametrize(
    "answer",
    [
        SOLUTION,
        {"solution": SOLUTION},
        {"solution": SOLUTION, "objective": COST},
        claim_of_text(json.dumps({"solution": SOLUTION, "objective": COST}).encode(), "a text"),
    ],
)
def test_answers_that_are_taken(answer: object):
    """Data of a solution, data of a result, and what a text claims: checked, and with the checker's objective."""
    result = judged(answer)
    assert (str(result.status), result.objective, result.solution.as_data()) == ("feasible", COST, SOLUTION)


def test_a_whole_result_is_taken_for_its_instance_only():
    """Its hash says which."""
    text = json.dumps(FAMILY.solve(INSTANCE, method="doubling").as_data()).encode()
    claim = claim_of_text(text, "a text")
    assert judged(claim).objective == claim.objective
    other = claim_of_text(text.replace(INSTANCE.sha256.encode(), b"0" * 64), "a text")
    with pytest.raises(PolicyError, match=r"^its answer is a result of another instance$"):
        judged(other)


def bound_only() -> Claim:
    """A result without a solution."""
    return claim_of_text(json.dumps(FAMILY.solve(INSTANCE, method="lp").as_data()).encode(), "a text")


@pytest.mark.parametrize("answer", [None, bound_only()])
def test_no_answer(answer: object):
    """Is no fault."""
    assert str(judged(answer).status) == "no_solution"


@pytest.mark.parametrize("name", REFUSED)
def test_answers_that_are_refused(name: str, tmp_path: Path):
    """In the same words by the judge and of a function of the user's own, which are headed by its name."""
    answer, kind, words = REFUSED[name]
    with pytest.raises(PolicyError) as refused:
        judged(answer)
    assert type(refused.value) is kind
    assert str(refused.value).startswith(words)
    written = "object()" if name == "object" else repr(answer)
    (tmp_path / "own.py").write_text(f"def answer(instance):\n    return {written}\n")
    method = find_method_of_user(FAMILY, "own.py:answer", folder=str(tmp_path))
    with pytest.raises(kind) as said:
        FAMILY.solve(INSTANCE, method=method)
    assert str(said.value) == f"own.py:answer: {refused.value}"


@pytest.mark.parametrize("text", [b"", b"no JSON", b"3", b"[" * 100_000, b'{"solution": 3}', b"\xff\xfe"])
def test_texts_that_are_no_answer(text: bytes, tmp_path: Path):
    """The same words of a program that prints them and nothing else."""
    with pytest.raises(UnreadableAnswer, match=r"^standard output: ."):
        claim_of_text(text, "standard output")
    (tmp_path / "text").write_bytes(text)
    with pytest.raises(CellEnded) as ended:
        run_command(("cat", str(tmp_path / "text")), "", str(tmp_path))
    assert ended.value.status == "error"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PolicyError("breaks"), ("rejected", "breaks")),
        (UnreadableAnswer("no"), ("error", "no")),
        (DlschedError("so"), ("error", "so")),
        (MemoryError(), ("memory", "out of memory")),
        (MemoryError("all gone"), ("memory", "all gone")),
        (ValueError("x\ny"), ("error", "ValueError: x\\ny")),
        (SystemExit(3), ("error", "SystemExit: 3")),
    ],
)
def test_statuses_of_errors(error: BaseException, expected: tuple[str, str]):
    """Of answers that were refused, and of methods that raise."""
    assert status_of_error(error) == expected
