"""``dlsched generate``: the same arguments give the same bytes, and every instance is valid."""

import json
from pathlib import Path
from typing import Any

import pytest

from dlsched.families import FAMILIES

PRESETS = [(family.name, preset) for family in FAMILIES.values() for preset in family.presets]


@pytest.mark.parametrize(("family", "preset"), PRESETS)
def test_the_same_arguments_give_the_same_bytes(family: str, preset: str, cli: Any, tmp_path: Path) -> None:
    """Twice the same on standard output and in a file; another seed, another instance; each can be solved."""
    units = "--nodes" if family == "async_sgd" else "--gpus"
    arguments = ("generate", family, "--preset", preset, "--jobs", 5, units, 24, "--seed")
    printed = cli(*arguments, 3)
    assert (printed.code, printed.err) == (0, "")
    out = tmp_path / "instance.json"
    written = cli(*arguments, 3, "-o", out)
    assert (written.code, written.out, written.err) == (0, "", "")
    assert out.read_bytes() == printed.out.encode()
    assert cli(*arguments, 4).out != printed.out
    data = json.loads(printed.out)
    servers = sum(server["gpus"] for server in data.get("servers", ()))
    nodes = data.get("nodes", ())
    if isinstance(nodes, list | tuple):
        nodes = sum(node.get("capacity", {}).get("gpu", 0) for node in nodes)
    size = data.get("gpus") or data.get("units") or servers or nodes or len(data["workers"])
    assert (data["format"], size, len(data["jobs"])) == (f"dlsched/{family}/1", 24, 5)
    assert cli("solve", out, "--time-limit", 0).code in (0, 4)


def test_an_option_that_a_family_does_not_take_is_refused(cli: Any) -> None:
    """Exit 2, and the option is named; streams take it."""
    ended = cli("generate", "ring_allocation", "--load", 0.5)
    assert (ended.code, ended.out) == (
        2,
        "",
    ) and "load: found 0.5, allowed: no such option for ring_allocation" in ended.err
    data = cli("generate", "elastic_stream", "--load", 0.5, "--tick", 30).json
    assert data["tick_s"] == 30.0 and data["source"].endswith("--load 0.5 --tick 30")


def test_servers_and_slots(cli: Any) -> None:
    """Rings take them; a family without a network or slots does not."""
    data = cli("generate", "ring_embedding", "--preset", "small", "--servers", 5, "--slots", 3).json
    servers = [node["id"] for node in data["nodes"] if "capacity" in node]
    assert (servers, data["slots"]) == (["s0", "s1", "s2", "s3", "s4"], 3)
    assert data["source"].endswith("--preset small --jobs 4 --servers 5 --slots 3 --seed 0")
    for option in ("servers", "slots"):
        ended = cli("generate", "ring_allocation", f"--{option}", 3)
        assert ended.code == 2 and f"{option}: found 3, allowed: no such option for ring_allocation" in ended.err


def test_nodes_and_max_nodes(cli: Any) -> None:
    """Jobs of asynchronous SGD take them, and no GPUs; other families do not."""
    data = cli("generate", "async_sgd", "--jobs", 3, "--nodes", 7, "--max-nodes", 2, "--seed", 4).json
    assert (data["nodes"], [job["max_nodes"] for job in data["jobs"]]) == (7, [2, 2, 2])
    assert data["source"].startswith(
        "dlsched generate async_sgd --preset published --jobs 3 --nodes 7 --seed 4 --max-nodes 2\n"
    )
    assert "max_nodes" not in cli("generate", "async_sgd").json["jobs"][0]
    for family, option in (("async_sgd", "gpus"), ("elastic_stream", "nodes"), ("elastic_stream", "max-nodes")):
        ended = cli("generate", family, f"--{option}", 3)
        assert (ended.code, ended.out) == (2, "")
        assert f"dlsched: --{option}: found 3, allowed: no such option for {family}" in ended.line


def test_another_process_gives_the_same_bytes(cli: Any, program: Any) -> None:
    """Nothing hangs on the process, its hash seed for one."""
    arguments = ("generate", "ring_allocation", "--seed", 5)
    assert program(*arguments, PYTHONHASHSEED="1").out == cli(*arguments).out


def test_max_gpus_limits_the_counts(cli: Any) -> None:
    """No job of any preset may have more."""
    for preset in FAMILIES["ring_allocation"].presets:
        data = cli("generate", "ring_allocation", "--preset", preset, "--max-gpus", 4).json
        for job in data["jobs"]:
            assert max(map(int, job.get("epoch_time_s", {job.get("max_gpus", 0): 0}))) <= 4


def test_the_default_is_ten_jobs(cli: Any) -> None:
    """Of the family's first preset, from seed 0."""
    data = cli("generate", "ring_allocation").json
    assert len(data["jobs"]) == 10
    assert data == cli("generate", "ring_allocation", "--preset", "mixed", "--jobs", 10, "--seed", 0).json
