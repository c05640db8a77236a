"""Malformed instance files: exit 3, one line that names file and field, nothing printed; odd ones are taken."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Edit = Callable[[dict[str, Any]], Any]
LARGE = 10**400  # no float is so large, but Python reads it
NAN, INF = float("nan"), float("inf")
KEYS = ("01", "+1", " 1", "1 ", "1.0", "0", "-1", "", "١", "1e2", "0x1", "1_0", "a", "²", "9" * 5000, str(2**53 + 1))
DEEP = "[" * 100_000 + "]" * 100_000


def put(*path_and_value: Any) -> Edit:
    """Set the entry at a path."""
    *path, last, value = path_and_value

    def edit(data: Any) -> None:
        for step in path:
            data = data[step]
        data[last] = value

    return edit


def drop(*path: Any) -> Edit:
    """Delete the entry at a path."""

    def edit(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return edit


def text(old: str, new: str) -> Edit:
    """Replace in the file's text, once; the text is returned."""

    def edit(data: Any) -> str:
        written = json.dumps(data)
        assert old in written
        return written.replace(old, new, 1)

    return edit


def whole(content: str | bytes) -> Edit:
    """Replace the file."""
    return lambda data: content


def count(key: str) -> Edit:
    """Add a count to the first job's table."""
    return put("jobs", 0, "epoch_time_s", key, 5.0)


def known(**fields: Any) -> Edit:
    return put("known", fields)


def law(*theta: float, samples: float = 1, model_bytes: float = 0) -> dict[str, Any]:
    """Return a speed law; coefficients not given are 0."""
    return {"theta": [*theta, 0, 0, 0, 0][:4], "samples": samples, "model_bytes": model_bytes}


def each(what: str, where: str, values: Iterable[Any], *path: Any) -> list[tuple[str, Edit, str]]:
    """Put each of several wrong values at a path."""
    return [(f"{what} {json.dumps(value)[:9]}", put(*path, value), where) for value in values]


A, B = ("jobs", 0), ("jobs", 1)
TABLE, LAW = (*A, "epoch_time_s"), (*B, "speed_law")

FILES: list[tuple[str, Edit, str | None]] = [
    ("not UTF-8", whole(b'{"name": "\xff"}'), "byte 10"),
    ("byte order mark", whole(b'\xef\xbb\xbf{"format": 1}'), "line 1 column 1"),
    ("UTF-16", whole("{}".encode("utf-16")), "byte 0"),
    ("empty", whole(""), "line 1 column 1"),
    ("blank", whole(" \n "), "line 2"),
    ("truncated", lambda data: json.dumps(data)[:100], "line 1 column"),
    ("trailing comma", text("}]}", "}],}"), "line 1 column"),
    ("two documents", lambda data: json.dumps(data) * 2, "line 1 column"),
    ("comment", lambda data: "// c\n" + json.dumps(data), "line 1 column 1"),
    ("single quotes", whole("{'format': 1}"), "line 1 column 2"),
    ("control character", text("two-jobs", "two\x01jobs"), "line 1 column"),
    ("list on top", whole("[]"), None),
    ("string on top", whole('"dlsched/ring_allocation/1"'), None),
    ("number on top", whole("6"), None),
    ("null on top", whole("null"), None),
    ("true on top", whole("true"), None),
    ("empty object", whole("{}"), "format"),
    ("100,000 brackets", whole(DEEP), None),
    ("100,000 objects", whole('{"a":' * 100_000), None),
    ("deep format", text('"dlsched/ring_allocation/1"', "[" * 300 + "]" * 300), "format"),
    ("number of 5,000 digits", text('"gpus": 6', '"gpus": ' + "6" * 5000), None),
    ("key twice on top", text('"gpus": 6', '"gpus": 6, "gpus": 6'), "gpus"),
    ("key twice in a job", text('"epochs": 160', '"epochs": 160, "epochs": 1'), "jobs[0].epochs"),
    ("key twice in a table", text('"1": 138.0', '"1": 138.0, "1": 138.0'), "jobs[0].epoch_time_s.1"),
    ("key twice in a law", text('"samples": 50000', '"samples": 1, "samples": 2'), "jobs[1].speed_law.samples"),
    ("key twice, the first lost", text('"gpus": 6', '"gpus": {"a": 1, "a": 2}, "gpus": 6'), "gpus"),
]

FIELDS: list[tuple[str, Edit, str]] = [
    ("format of another family", put("format", "dlsched/nosuch/1"), "format"),
    ("format of another version", put("format", "dlsched/ring_allocation/2"), "format"),
    ("format of a result", put("format", "dlsched/result/1"), "format"),
    ("format null", put("format", None), "format"),
    ("format with a line break", put("format", "a\nb"), "format"),
    *((f"no {field}", drop(field), field) for field in ("format", "name", "gpus", "jobs")),
    *((f"no {field} in a job", drop(*A, field), f"jobs[0].{field}") for field in ("id", "epochs")),
    *((f"no {x} in a law", drop(*LAW, x), f"jobs[1].speed_law.{x}") for x in ("theta", "samples", "model_bytes")),
    ("unknown field on top", put("colour", 1), "colour"),
    ("unknown field named self", put("self", 1), "self"),
    ("unknown field named data", put("data", 1), "data"),
    ("unknown field of a line break", put("a\nb", 1), "a"),
    ("unknown empty field", put("", 1), ""),
    ("unknown field in a job", put(*A, "colour", 1), "jobs[0].colour"),
    ("unknown field in a law", put(*LAW, "colour", 1), "jobs[1].speed_law.colour"),
    ("unknown field in known", known(optimum=1.0, proof="p", colour=1), "known.colour"),
    ("field of the Python class", put("family", "ring_allocation"), "family"),
    ("name empty", put("name", ""), "name"),
    ("name a number", put("name", 5), "name"),
    ("source a list", put("source", ["a"]), "source"),
    *each("gpus", "gpus", ("6", 6.0, 6.5, True, None, [6], {}, 0, -6, LARGE, NAN), "gpus"),
    ("jobs empty", put("jobs", []), "jobs"),
    ("jobs an object", put("jobs", {"a": {}}), "jobs"),
    ("jobs a string", put("jobs", "ab"), "jobs"),
    ("jobs null", put("jobs", None), "jobs"),
    *each("job", "jobs[1]", (None, 1, "b", [], True), *B),
    ("id empty", put(*A, "id", ""), "jobs[0].id"),
    ("id a number", put(*A, "id", 1), "jobs[0].id"),
    ("ids twice", put(*B, "id", "a"), "jobs[1].id"),
    *each("epochs", "jobs[0].epochs", ("1", True, None, [], -1, -1e-300, LARGE, NAN, INF, -INF), *A, "epochs"),
    ("epochs 1e999", text('"epochs": 160', '"epochs": 1e999'), "jobs[0].epochs"),
    *each("weight", "jobs[0].weight", (0, -0.0, -1.0, "1", None, NAN, INF), *A, "weight"),
    *each("current_gpus", "jobs[0].current_gpus", (0, -4, 4.0, "4", True), *A, "current_gpus"),
    *each("restart_s", "jobs[0].restart_s", (-1, "1", None, INF), *A, "restart_s"),
    *each("max_gpus", "jobs[1].max_gpus", (0, 16.0, "16"), *B, "max_gpus"),
    ("both speeds", put(*A, "speed_law", law(1)), "jobs[0]"),
    ("neither speed", drop(*TABLE), "jobs[0]"),
    ("max_gpus beside a table", put(*A, "max_gpus", 8), "jobs[0].max_gpus"),
    *each("table", "jobs[0].epoch_time_s", ({}, [], [138.0], "1", 1, True), *TABLE),
    *((f"count {key!r}"[:20], count(key), f"jobs[0].epoch_time_s.{key}"[:40]) for key in KEYS),
    ("count with a line break", count("1\n2"), "jobs[0].epoch_time_s.1"),
    *each("time", "jobs[0].epoch_time_s.2", (0, -0.0, -1.0, "1", None, True, [], {}, NAN, INF, LARGE), *TABLE, "2"),
    ("time 1e999", text("81.9", "1e999"), "jobs[0].epoch_time_s.2"),
    ("law a list", put(*LAW, [1, 2]), "jobs[1].speed_law"),
    ("theta of 3", put(*LAW, "theta", [1, 0, 0]), "jobs[1].speed_law.theta"),
    ("theta of 5", put(*LAW, "theta", [1, 0, 0, 0, 0]), "jobs[1].speed_law.theta"),
    ("theta an object", put(*LAW, "theta", {}), "jobs[1].speed_law.theta"),
    ("theta negative", put(*LAW, "theta", [1, 0, -1e-9, 0]), "jobs[1].speed_law.theta[2]"),
    ("theta all zero", put(*LAW, "theta", [0, 0, 0, 0]), "jobs[1].speed_law.theta"),
    ("theta zero on one GPU", put(*LAW, "theta", [0, 1, 1, 0]), "jobs[1].speed_law.theta"),
    ("theta a string", put(*LAW, "theta", ["1", 0, 0, 0]), "jobs[1].speed_law.theta[0]"),
    ("theta large", put(*LAW, "theta", [LARGE, 0, 0, 0]), "jobs[1].speed_law.theta[0]"),
    ("samples 0", put(*LAW, "samples", 0), "jobs[1].speed_law.samples"),
    ("model_bytes negative", put(*LAW, "model_bytes", -1), "jobs[1].speed_law.model_bytes"),
    ("law overflows on one GPU", put(*LAW, law(1e300, 0, samples=1e300)), "jobs[1].speed_law"),
    ("law overflows on many GPUs", put(*LAW, law(1, 1e308)), "jobs[1]"),
    ("table overflows", put(*A, {"id": "a", "epochs": 1e300, "epoch_time_s": {"1": 1e300}}), "jobs[0]"),
    ("known empty", known(), "known"),
    ("known a number", put("known", 5.0), "known"),
    ("known both", known(optimum=1.0, lower=1.0, upper=1.0, proof="p"), "known"),
    ("known neither", known(proof="p"), "known"),
    ("known lower only", known(lower=1.0, proof="p"), "known"),
    ("known upper only", known(upper=1.0, proof="p"), "known"),
    ("known without proof", known(lower=1.0, upper=2.0), "known.proof"),
    ("known with an empty proof", known(lower=1.0, upper=2.0, proof=""), "known.proof"),
    ("known lower above upper", known(lower=2.0, upper=1.0, proof="p"), "known"),
    ("known NaN", known(optimum=float("nan"), proof="p"), "known.optimum"),
    ("known a string", known(optimum="1", proof="p"), "known.optimum"),
]


def ids(cases: list[Any]) -> list[str]:
    return [case[0].replace("\n", " ") for case in cases]


def refused(cli: Any, path: Path) -> str:
    """Return the line that refuses an instance; the rest of the promise is asserted."""
    ended = cli("solve", path)
    assert (ended.code, ended.out) == (3, ""), ended
    assert ended.line.startswith("dlsched: ")
    assert str(path) in ended.line
    return str(ended.line).removeprefix(f"dlsched: {path}: ")


def write(tmp_path: Path, data: dict[str, Any], edit: Edit) -> Path:
    """Write a file as edited: what the edit returns, or else the data that it changed."""
    path = tmp_path / "malformed.json"
    content = edit(data)
    content = data if content is None else content
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("what", "edit", "where"), FILES, ids=ids(FILES))
def test_a_file_that_is_no_json_object_is_refused(
    what: str, edit: Edit, where: str | None, cli: Any, two_jobs: dict[str, Any], tmp_path: Path
) -> None:
    """What is no JSON, or no object, or repeats a key, is refused in one line that says where."""
    line = refused(cli, write(tmp_path, two_jobs, edit))
    assert "found" in line, what
    assert where is None or line.startswith(where), what
    assert len(line) < 500, "a message is no place for the file's content"


@pytest.mark.parametrize(("what", "edit", "where"), FIELDS, ids=ids(FIELDS))
def test_a_wrong_field_is_refused(
    what: str, edit: Edit, where: str, cli: Any, two_jobs: dict[str, Any], tmp_path: Path
) -> None:
    """A field that is missing, unknown, of the wrong type or out of range is named with what is allowed."""
    line = refused(cli, write(tmp_path, two_jobs, edit))
    assert line.startswith(where), what
    assert ": found " in line, what
    assert ", allowed: " in line, what


@pytest.mark.parametrize("command", ["solve", "compare", "bound", "check", "export"])
@pytest.mark.parametrize("wrong", ["missing", "folder", "no permission", "malformed"])
def test_every_command_refuses_a_file_it_cannot_use(command: str, wrong: str, cli: Any, tmp_path: Path) -> None:
    """No command that reads an instance ends otherwise than with exit 3 and one line."""
    path = tmp_path / "missing.json"
    if wrong == "folder":
        path = tmp_path
    if wrong == "no permission":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path.write_text("{}")
        path.chmod(0)
    if wrong == "malformed":
        path.write_text("{}")
    ended = cli(command, path, *(["result.json"] if command == "check" else []))
    assert ended.code == 3
    assert ended.line.startswith(f"dlsched: {path}: ")


SURROGATES: list[tuple[str, Edit, str]] = [
    ("name", put("name", "\ud800"), "name"),
    ("id", put(*A, "id", "\ud800"), "jobs[0].id"),
    ("field", put("\ud800", 1), ""),
    ("field of a job", put(*A, "\ud800", 1), "jobs[0]"),
    ("count", count("\ud800"), "jobs[0].epoch_time_s."),
]


@pytest.mark.parametrize(
    ("what", "edit", "where"),
    [pytest.param(*each, marks=() if each[0] in ("name", "count") else pytest.mark.long) for each in SURROGATES],
    ids=ids(SURROGATES),
)
def test_half_a_character_is_refused(
    what: str, edit: Edit, where: str, program: Any, two_jobs: dict[str, Any], tmp_path: Path
) -> None:
    """A lone surrogate is no text; as the real standard error writes it, the refusal is one line."""
    line = refused(program, write(tmp_path, two_jobs, edit))
    assert line.startswith(where), what
    assert ": found " in line, what


def test_a_field_of_a_megabyte_does_not_fill_the_screen(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """Names from the file are shortened in messages, as values are."""
    assert len(refused(cli, write(tmp_path, two_jobs, put("x" * 10**6, 1)))) < 2000


def test_standard_input_is_named_in_a_refusal(cli: Any) -> None:
    """An error of - says standard input."""
    ended = cli("solve", "-", stdin="{}")
    assert (ended.code, ended.out) == (3, "")
    assert ended.line.startswith("dlsched: standard input: format: found nothing")


def test_a_repeated_key_is_found_among_many(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """The last of a thousand keys is named when it stands twice."""
    table = ", ".join(f'"{n}": 1.0' for n in [*range(1, 1001), 1000])
    edit = text('"1": 138.0, "2": 81.9, "4": 47.25, "8": 29.6', table)
    assert refused(cli, write(tmp_path, two_jobs, edit)).startswith("jobs[0].epoch_time_s.1000: ")


ODD: list[tuple[str, Edit, int]] = [
    ("10**12 GPUs", put("gpus", 10**12), 0),
    ("one job", drop(*B), 0),
    ("integers for floats", put(*LAW, {"theta": [1, 0, 0, 1], "samples": 50000, "model_bytes": 100000000}), 0),
    ("keys in another order", lambda data: dict(reversed(data.items())), 0),
    ("counts in another order", put(*TABLE, {"8": 29.6, "1": 138.0, "4": 47.25, "2": 81.9}), 0),
    ("epochs 0", put(*A, "epochs", 0), 0),
    ("epochs -0.0", put(*A, "epochs", -0.0), 0),
    ("theta with -0.0", put(*LAW, "theta", [1.0, -0.0, 0.0, 0.0]), 0),
    ("current count that is not allowed", put(*A, "current_gpus", 3), 0),
    ("current count larger than the cluster", put(*A, "current_gpus", 1000), 0),
    ("max_gpus larger than the cluster", put(*B, "max_gpus", 1000), 0),
    ("times that grow with the count", put(*TABLE, {"1": 1.0, "2": 2.0}), 0),
    ("names of any script", put(*A, "id", "Ä 任务 \U0001f600"), 0),
    ("an id with a line break", put(*A, "id", "a\nb"), 0),
    ("known and source", lambda data: data | {"source": "", "known": {"lower": 1, "upper": 10**7, "proof": "p"}}, 0),
    ("the smallest float", put(*TABLE, {"1": 5e-324}), 0),
    ("a law on as many GPUs as there are", drop(*B, "max_gpus"), 0),
    ("fewer GPUs than jobs", put("gpus", 1), 4),
    ("a job larger than the cluster", put(*TABLE, {"8": 29.6}), 4),
]


@pytest.mark.parametrize(("what", "edit", "code"), ODD, ids=ids(ODD))
def test_a_valid_but_odd_file_is_taken(
    what: str, edit: Edit, code: int, cli: Any, two_jobs: dict[str, Any], tmp_path: Path
) -> None:
    """What the format allows is solved, or proven infeasible; the answer passes the checker."""
    path = write(tmp_path, two_jobs, edit)
    out = tmp_path / "result.json"
    ended = cli("solve", path, "-o", out)
    assert (ended.code, ended.err) == (code, ""), what
    assert cli("check", path, out).code == 0, what


def test_minus_zero_and_zero_are_one_instance(cli: Any, two_jobs: dict[str, Any]) -> None:
    """-0.0 is 0.0, in the hash as well; so is an integer the float it equals, and a default left out."""
    two_jobs["jobs"][0] |= {"epochs": 0.0, "restart_s": 0.0}
    other = json.loads(json.dumps(two_jobs))
    other["jobs"][0] |= {"epochs": -0.0, "restart_s": -0.0, "weight": 1}
    other["jobs"][1] |= {"weight": 1.0, "restart_s": 0}
    ended = [cli("solve", "-", "--json", stdin=json.dumps(data)) for data in (two_jobs, other)]
    assert ended[0].json["instance"]["sha256"] == ended[1].json["instance"]["sha256"]


def test_a_law_whose_terms_overflow_is_no_defect(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """0 times an overflowing term: refused, or solved by the mathematics (1 / w), but never a traceback."""
    edit = put(*LAW, law(1, model_bytes=1e308))
    ended = cli("solve", write(tmp_path, two_jobs, edit))
    assert ended.code in (0, 3)
    assert "Traceback" not in ended.err


def test_a_law_of_too_many_counts_is_refused_before_memory_is_taken(
    cli: Any, two_jobs: dict[str, Any], tmp_path: Path
) -> None:
    """10**14 useful counts end in a sentence, whether or not there is a current count beyond them."""
    two_jobs["gpus"] = 10**15
    two_jobs["jobs"] = [{"id": "a", "epochs": 1, "speed_law": law(1, 1e-20, samples=1e8)}]
    for edit in (put(*A, "weight", 1.0), put(*A, "current_gpus", 5 * 10**14)):
        ended = cli("solve", write(tmp_path, two_jobs, edit))
        assert ended.code in (0, 2)
        assert "Traceback" not in ended.err
