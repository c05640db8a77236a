"""Errors are records: their fields are what the text is made of."""

import pickle

import pytest

from dlsched.core import errors
from dlsched.core.errors import DlschedError, UsageError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DlschedError)]


@pytest.mark.parametrize("kind", KINDS)
def test_fields_and_text(kind) -> None:
    """Every error has them, and keeps them on its way through a pipe between processes."""
    made = kind(where=("jobs", "max_gpus"), found=3, allowed="up to 2", limit="max_gpus", more=["another line"])
    for error in (made, pickle.loads(pickle.dumps(made))):
        assert (error.where, error.found, error.allowed) == (("jobs", "max_gpus"), "3", "up to 2")
        assert str(error) == "jobs, max_gpus: found 3, allowed: up to 2 (limit max_gpus)\n  another line"
        assert error.head == "jobs, max_gpus: found 3, allowed: up to 2 (limit max_gpus)"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UsageError("no category"), "no category"),
        (UsageError("line 3: ValueError: no", where="mine.py:policy"), "mine.py:policy: line 3: ValueError: no"),
        (UsageError(found="--json and --csv", allowed="one of them"), "found --json and --csv, allowed: one of them"),
        (UsageError(where="time_limit", found=None, allowed="seconds"), "--time-limit: found None, allowed: seconds"),
        (UsageError(where="time limit", found=-1, allowed="0"), "--time-limit: found -1, allowed: 0"),
        (UsageError(found=9, allowed=8, limit="max_gpus"), "found 9, allowed: 8 (limit --max-gpus)"),
        (
            UsageError(
                where=("jobs", "max_gpus"), found={"jobs": 3, "max_gpus": 4}, allowed="others (jobs[0].max_gpus)"
            ),
            "--jobs, --max-gpus: found jobs 3, --max-gpus 4, allowed: others (jobs[0].max_gpus)",
        ),
        (
            UsageError("max_gpus is a word of mine", where="mine.py:policy"),
            "mine.py:policy: max_gpus is a word of mine",
        ),
    ],
)
def test_options_in_place_of_arguments(error, text) -> None:
    """Arguments are called what was typed where the error says that they are arguments, and nowhere else."""
    assert error.text({"jobs": "--jobs", "max_gpus": "--max-gpus", "time_limit": "--time-limit"}) == text
