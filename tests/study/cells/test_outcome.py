"""Outcomes travel as JSON."""

import json

import pytest

from dlsched.study.cells.outcome import Facts, Outcome, outcome_from

OUTCOME = Outcome(
    *("a1", "optimal", "said", 3.5, 3.25, 0.125, 0.25, 50.0),
    figures={"wait": 1.5},
    solution={"gpus": {"j0": 1}},
    certificate={"kind": "price"},
    facts=Facts("small", "b2", 3, 8, 0.5, None, 3.0),
)


def test_an_outcome_travels():
    """With and without facts and figures."""
    assert outcome_from(OUTCOME.as_bytes()) == OUTCOME
    assert outcome_from(Outcome("a1", "killed").as_bytes()) == Outcome("a1", "killed")


@pytest.mark.parametrize(
    "changed",
    [
        {"objective": "3"},
        {"time_s": float("inf")},
        {"bound": float("nan")},
        {"status": None},
        {"unknown": 1},
        {"facts": 3},
    ],
)
def test_what_is_no_outcome_is_refused(changed: dict[str, object]):
    """Fields of another kind, and numbers that are not finite."""
    data = json.loads(OUTCOME.as_bytes()) | changed
    with pytest.raises(ValueError, match="no outcome"):
        outcome_from(json.dumps(data).encode())


@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[1]", b"3", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_refused(raw: bytes):
    """Whatever it is, it is a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        outcome_from(raw)
