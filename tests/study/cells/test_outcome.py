"""Outcomes travel as JSON; words of errors fit a row, whatever the errors do."""

import json

import pytest

from dlsched.study.cells.outcome import LONGEST_MESSAGE, Facts, Outcome, outcome_from, short, words_of

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


def test_words_fit_a_row():
    """On one line, printable, and no longer than a row holds."""
    assert short("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert short("half \udc80") == "half \\udc80"
    assert len(short("x" * 10_000_000)) == LONGEST_MESSAGE
    assert len(short("\n" * 5000)) == LONGEST_MESSAGE


def test_an_error_without_text_has_words():
    """Its text may fail, with whatever exception."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    assert words_of(ValueError("wrong")) == "wrong"
    assert words_of(MuteError()) == "its text cannot be had: SystemExit"
