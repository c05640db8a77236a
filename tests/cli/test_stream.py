"""``dlsched stream``: from an instance of async_sgd to one of elastic_stream, and on to ``compare``."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched import async_sgd, elastic_stream, read, write
from dlsched.catalogue.elastic_stream import LISTED


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Six published jobs on eight nodes, at most four nodes each."""
    path = tmp_path / "jobs.json"
    write(async_sgd.generate(jobs=6, nodes=8, max_nodes=4, seed=2), path)
    return path


def test_the_same_arguments_give_the_same_bytes(jobs: Path, cli: Any, tmp_path: Path) -> None:
    """On standard output and in a file; standard input is read as well; another seed, another stream."""
    printed = cli("stream", jobs, "--seed", 3)
    assert (printed.code, printed.err) == (0, "")
    out = tmp_path / "stream.json"
    written = cli("stream", jobs, "--seed", 3, "-o", out)
    assert (written.code, written.out, written.err) == (0, "", "")
    assert out.read_bytes() == printed.out.encode()
    assert cli("stream", "-", "--seed", 3, stdin=jobs.read_text()).out == printed.out
    assert cli("stream", jobs, "--seed", 4).out != printed.out


def test_options_reach_the_file(jobs: Path, cli: Any) -> None:
    """Load, restart, ticks and ends; the name tells streams of one instance apart, the source is the command."""
    options = ("--load", 0.5, "--seed", 7, "--restart", 10, "--stop", "0.05:0.5", "--stop", "0.25:.3", "--tick", 60)
    data = cli("stream", jobs, *options).json
    assert (data["format"], data["units"], data["tick_s"]) == ("dlsched/elastic_stream/1", 8, 60.0)
    assert data["name"] == "published-6x8-seed2-load0.5-seed7"
    command = "dlsched stream --load 0.5 --seed 7 --restart 10.0 --stop 0.05:0.5 --stop 0.25:0.3 --tick 60.0"
    assert data["source"].splitlines()[:3] == [
        command,
        "published-6x8-seed2 of async_sgd, speeds by mean value analysis",
        "dlsched generate async_sgd --preset published --jobs 6 --nodes 8 --seed 2 --max-nodes 4",
    ]
    early = [{"fraction": 0.05, "probability": 0.5}, {"fraction": 0.25, "probability": 0.3}]
    for job in data["jobs"]:
        assert (job["restart_s"], job["early_stop"], list(job["epoch_time_s"])) == (10.0, early, ["1", "2", "3", "4"])
        assert job.get("stops_at", 1.0) in (0.05, 0.25, 1.0)
    words = command.split()[2:]
    assert cli("stream", jobs, *words).json == data


def test_without_options(jobs: Path, cli: Any) -> None:
    """Load .8, seed 0, no restarts, no early ends, decisions at any time: what the library makes of the same draws."""
    data = cli("stream", jobs).json
    assert "tick_s" not in data
    assert not any({"restart_s", "stops_at", "early_stop"} & set(job) for job in data["jobs"])
    stream = async_sgd.random_stream(read(jobs), load=0.8, generator=np.random.default_rng(0))
    assert data["jobs"] == json.loads(json.dumps(stream.as_data()))["jobs"]
    assert data["name"].endswith("-load0.8-seed0")


def test_the_stream_can_be_compared_solved_and_checked(jobs: Path, cli: Any, tmp_path: Path) -> None:
    """Every order x sizing on the file: none beats the bound; a result passes the checker."""
    out, result = tmp_path / "stream.json", tmp_path / "result.json"
    assert cli("stream", jobs, "--load", 1.1, "--restart", 10, "--stop", "0.25:0.5", "-o", out).code == 0
    orders, sizings = elastic_stream.policies.ORDERS, elastic_stream.heuristics.SIZINGS
    cells = [f"{order}-{sizing}" for order in orders for sizing in sizings]
    ended = cli("compare", out, "--methods", ",".join(cells), "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [row["method"] for row in ended.json] == [*(LISTED.aliases.get(cell, cell) for cell in cells), "bound"]
    assert all(row["status"] == "feasible" and row["ratio"] >= 1 for row in ended.json[:-1])
    assert cli("solve", out, "--method", "srpt-knee", "-o", result).code == 0
    assert cli("check", out, result).code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--stop", "0.5"), "--stop: found '0.5', allowed: a fraction and a probability such as 0.25:0.3"),
        (("--stop", ""), "--stop: found '', allowed: a fraction"),
        (("--stop", "a:b"), "--stop: found 'a:b'"),
        (("--stop", "0.1:0.2:0.3"), "--stop: found '0.1:0.2:0.3'"),
        (("--stop", "0.1:0.2", "--stop", "x"), "--stop: found 'x'"),
        (("--stop", "1.5:0.3"), "early_stop: found fractions [1.5], allowed: numbers > 0 and < 1"),
        (("--stop", "0.5:nan"), "early_stop: found probabilities [nan], allowed: numbers > 0 that add up to at most 1"),
        (("--stop", "0.5:0.6", "--stop", "0.2:0.6"), "early_stop: found probabilities [0.6, 0.6]"),
        (("--load", 0), "--load: found 0.0, allowed: a number > 0"),
        (("--load", "nan"), "--load: found nan"),
        (("--restart", -1), "--restart: found -1.0, allowed: a number >= 0"),
        (("--tick", 0), "--tick: found 0.0, allowed: a number > 0"),
        (("--seed", -1), "--seed: found -1, allowed: an integer >= 0"),
    ],
)
def test_wrong_arguments_are_misuse(arguments: tuple[object, ...], line: str, jobs: Path, cli: Any) -> None:
    """Exit 2, nothing printed, and one line that names the argument, what was found and what is allowed."""
    ended = cli("stream", jobs, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.line.startswith(f"dlsched: {line}")


def test_a_file_of_another_family_is_misuse(cli: Any, tmp_path: Path) -> None:
    """A stream is no instance of async_sgd: exit 2, both families named; a file that is missing: exit 3."""
    path = tmp_path / "two.json"
    write(elastic_stream.example(), path)
    ended = cli("stream", path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.line == "dlsched: FILE: found an instance of elastic_stream, allowed: one of async_sgd"
    assert cli("stream", tmp_path / "none.json").code == 3
