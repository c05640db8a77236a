"""Programs in any language answer on standard output; whatever else they do is an error of their cell."""

import json
import sys
from pathlib import Path

import pytest

import dlsched
from study.cells_at_hand import cell, command, recipe, run

INSTANCE = recipe().make()
GPUS = {job.id: 1 for job in INSTANCE.jobs}
WHOLE = dlsched.solve(INSTANCE, method="doubling").as_data()
PROGRAM = """
import json, sys
instance = json.load(open(sys.argv[1]))
print(json.dumps({"solution": {"gpus": {job["id"]: 1 for job in instance["jobs"]}}}))
"""


def says(data: object) -> tuple[str, ...]:
    """A program that prints something, as JSON where it is no text."""
    return "printf", "%s", data if isinstance(data, str) else json.dumps(data)


COMMANDS = {
    "a program of Python": ((sys.executable, "-c", PROGRAM, "{instance}"), "feasible", ""),
    "a solution": (says({"solution": {"gpus": GPUS}}), "feasible", ""),
    "its path in a word": (
        ("sh", "-c", f"test -s {{instance}} && echo '{json.dumps({'solution': {'gpus': GPUS}})}'"),
        "feasible",
        "",
    ),
    "a whole result": (says(WHOLE), "feasible", ""),
    "a bound, which counts for nothing": (
        says(WHOLE | {"bound": WHOLE["objective"] * 0.999, "bound_source": "me"}),
        "feasible",
        "",
    ),
    "a false objective": (
        says({"solution": {"gpus": GPUS}, "objective": 1.0}),
        "rejected",
        "objective: 1.0 is claimed, it is ",
    ),
    "a broken rule": (says({"solution": {"gpus": dict.fromkeys(GPUS, 8)}}), "rejected", "its answer breaks capacity"),
    "an unknown job": (says({"solution": {"gpus": {"nosuch": 1}}}), "rejected", "its answer"),
    "a solution of another family": (says({"solution": {"schedule": []}}), "rejected", "its answer"),
    "another instance": (says(WHOLE | {"instance": {"name": "x", "sha256": "0" * 64}}), "rejected", "another instance"),
    "no solution": (says(WHOLE | {"solution": None, "objective": None, "status": "no_solution"}), "no_solution", ""),
    "garbage": (says("first line\nnot JSON\n\n"), "error", "not JSON"),
    "a number": (says("3.5"), "error", "3.5"),
    "NaN": (says('{"solution": NaN}'), "error", '{"solution": NaN}'),
    "bytes": (("printf", "\\377\\376"), "error", "�"),
    "nesting": (("sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '['"), "error", "[[["),
    "nothing": (("true",), "error", "standard output"),
    "code and words": (("sh", "-c", "echo out; echo first >&2; echo 'said last' >&2; exit 3"), "error", "said last"),
    "code and words on standard output": (("sh", "-c", "echo out; exit 3"), "error", "out"),
    "a code": (("sh", "-c", "exit 3"), "error", "its process ended with code 3"),
    "a crash": (("sh", "-c", "kill -SEGV $$"), "error", "its process was ended by SIGSEGV"),
    "killed": (("sh", "-c", "kill -KILL $$"), "killed", "its process was ended by SIGKILL"),
    "not there": (("./nosuch",), "error", "./nosuch: cannot be started: No such file or directory"),
    "not executable": (("./plain",), "error", "./plain: cannot be started: Permission denied"),
    "no program": (("./text",), "error", "./text: cannot be started: Exec format error"),
    "a zero byte": (("echo", "a\0b"), "error", "echo: cannot be started: embedded null byte"),
    "without end": (("yes",), "error", "standard output: found more than 64 MiB, allowed: 64"),
    "much on standard error": (("sh", "-c", "head -c 3000000 /dev/zero >&2; echo; echo 3"), "error", "\\x00"),
    "words on both": (("sh", "-c", "echo out; echo err >&2"), "error", "err"),
    "one left that holds the pipe": (
        ("sh", "-c", f"sleep 600 & echo '{json.dumps({'solution': {'gpus': GPUS}})}'"),
        "feasible",
        "",
    ),
    "a closed pipe": (("sh", "-c", "exec >&- 2>&-; exit 4"), "error", "its process ended with code 4"),
}
"""Words, status and a part of the message."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan's folder with files that cannot be run."""
    made = tmp_path_factory.mktemp("plan")
    (made / "plain").write_text("no program")
    (made / "text").write_bytes(b"\x00\x01 no program")
    (made / "text").chmod(0o755)
    return made


def test_commands(folder: Path):
    """Each ends as its own row, in one process."""
    cells = [cell(command(*words, label=label)) for label, (words, _, _) in COMMANDS.items()]
    found = run(cells, folder=folder)
    for (label, (_, status, said)), outcome in zip(COMMANDS.items(), found, strict=True):
        assert outcome.status == status, f"{label}: {outcome}"
        assert said in outcome.message, f"{label}: {outcome}"
        assert outcome.bound is None
        assert (outcome.objective is None) == (status != "feasible")
    by_label = dict(zip(COMMANDS, found, strict=True))
    assert by_label["a whole result"].objective == WHOLE["objective"]
    assert by_label["a solution"].objective == dlsched.FAMILIES["ring_allocation"].objective(
        INSTANCE, INSTANCE_SOLUTION
    )


INSTANCE_SOLUTION = dlsched.FAMILIES["ring_allocation"].read_solution({"gpus": GPUS}, INSTANCE)
