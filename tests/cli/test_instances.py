"""``dlsched generate``, ``export`` and ``schema``."""

import json
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import async_sgd, elastic_stream, read, write
from dlsched.catalogue.elastic_stream import LISTED
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
    for option in ("load", "servers", "slots"):
        ended = cli("generate", "ring_allocation", f"--{option}", 3)
        assert (ended.code, ended.out) == (2, "")
        assert re.fullmatch(
            rf"dlsched: --{option}: found 3(\.0)?, allowed: no such option for ring_allocation", ended.line
        )
    data = cli("generate", "elastic_stream", "--load", 0.5, "--tick", 30).json
    assert data["tick_s"] == 30.0 and data["source"].endswith("--load 0.5 --tick 30")


def test_servers_and_slots(cli: Any) -> None:
    """Rings take them."""
    data = cli("generate", "ring_embedding", "--preset", "small", "--servers", 5, "--slots", 3).json
    servers = [node["id"] for node in data["nodes"] if "capacity" in node]
    assert (servers, data["slots"]) == (["s0", "s1", "s2", "s3", "s4"], 3)
    assert data["source"].endswith("--preset small --jobs 4 --servers 5 --slots 3 --seed 0")


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


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Six published jobs on eight nodes, at most four nodes each."""
    path = tmp_path / "jobs.json"
    write(async_sgd.generate(jobs=6, nodes=8, max_nodes=4, seed=2), path)
    return path


def test_the_same_arguments_give_the_same_bytes_of_stream(jobs: Path, cli: Any, tmp_path: Path) -> None:
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


OPTIMUM = 927118.96
INSTANCES = Path(__file__).parents[2] / "instances"


def scip_optimum(path: Path) -> float:
    """Optimum of a model file by SCIP, which reads it with its own parser."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return float(model.getObjVal())


@pytest.mark.parametrize("format_", ["lp", "mps"])
def test_the_exported_model_has_the_optimum(format_: str, cli: Any, example: Path, tmp_path: Path) -> None:
    """Read back by SCIP, it gives 927118.96 (by hand); names are those of the mathematics."""
    out = tmp_path / f"model.{format_}"
    ended = cli("export", example, "--format", format_, "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert scip_optimum(out) == pytest.approx(OPTIMUM, rel=1e-9)
    assert cli("export", example, "--format", format_).out == out.read_text(encoding="utf-8")
    for name in ("capacity", "choice_a", "choice_b", "x_a_4", "x_b_5"):
        assert name in out.read_text(encoding="utf-8")


def test_pulp_reads_its_mps_back(cli: Any, example: Path, tmp_path: Path) -> None:
    """With the same rows and columns."""
    import pulp

    out = tmp_path / "model.mps"
    cli("export", example, "--format", "mps", "-o", out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _, problem = pulp.LpProblem.fromMPS(str(out))
    assert set(problem.constraints) == {"capacity", "choice_a", "choice_b"}
    assert len(problem.variables()) == 3 + 5, "counts that cannot fit beside the other job are left out"


def test_names_that_no_format_takes_are_replaced(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """Ids of any characters and length give a file that SCIP reads."""
    two_jobs["jobs"][0]["id"] = "a job: <= 3 [x] \n 任务 " + "long " * 100
    two_jobs["jobs"][1]["id"] = "2e5"
    for format_ in ("lp", "mps"):
        out = tmp_path / f"model.{format_}"
        ended = cli("export", "-", "--format", format_, "-o", out, stdin=json.dumps(two_jobs))
        assert ended.code == 0
        assert scip_optimum(out) == pytest.approx(OPTIMUM, rel=1e-9)


def test_a_model_of_free_jobs_is_a_model(cli: Any, two_jobs: dict[str, Any], tmp_path: Path) -> None:
    """No epochs left and no restart: every cost is 0, and so is the optimum."""
    for job in two_jobs["jobs"]:
        job |= {"epochs": 0, "restart_s": 0}
    for format_ in ("lp", "mps"):
        out = tmp_path / f"model.{format_}"
        assert cli("export", "-", "--format", format_, "-o", out, stdin=json.dumps(two_jobs)).code == 0
        assert scip_optimum(out) == 0


@pytest.mark.parametrize(
    ("format_", "sign", "formulation"),
    [
        ("lp", 1, "arc"),
        ("mps", -1, "span"),
        pytest.param("lp", 1, "span", marks=pytest.mark.long),
        pytest.param("mps", -1, "arc", marks=pytest.mark.long),
    ],
)
def test_a_maximising_model_is_one_for_any_solver(
    format_: str, sign: int, formulation: str, cli: Any, tmp_path: Path
) -> None:
    """SCIP finds 66.78 of the two racks (by hand), negated in MPS, less the constant 10 / (1 + e^4) that files lose."""
    file, out = tmp_path / "two-racks.json", tmp_path / f"model.{format_}"
    dlsched.write(dlsched.ring_embedding.example(), file)
    ended = cli("export", file, "--formulation", formulation, "--format", format_, "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    optimum = 36 + 10 * math.log(9) + 10 / (1 + math.exp(-2))
    assert scip_optimum(out) == pytest.approx(sign * (optimum - 10 / (1 + math.exp(4))), rel=1e-9)


def test_without_a_name_it_is_the_first_formulation(cli: Any, example: Path) -> None:
    """``milp`` of the families that have it; the two racks have ``arc`` and ``span``."""
    racks = Path(__file__).parents[2] / "instances" / "ring_embedding" / "two-racks.json"
    for file, name in ((racks, "arc"), (example, "milp")):
        ended = cli("export", file)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == cli("export", file, "--formulation", name).out
    refused = cli("export", racks, "--formulation", "milp")
    assert refused.code != 0 and "allowed: arc, span" in refused.err


@pytest.mark.parametrize(("format_", "mark"), [("lp", "\\*"), ("mps", "*")])
def test_the_head_says_unit_and_constant(format_: str, mark: str, cli: Any, tmp_path: Path) -> None:
    """The file's optimum and the constant at its head are the instance's optimum; SCIP reads past the comments."""
    instance = INSTANCES / "srpt_mapping" / "already-running.json"
    out = tmp_path / f"model.{format_}"
    assert cli("export", instance, "--format", format_, "-o", out).code == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(f"{mark} unit of the objective: seconds") for line in lines[:4])
    (said,) = [line for line in lines[:5] if "constant that the objective lacks: " in line]
    constant = float(said.split("lacks: ")[1].split(";")[0].split(" *")[0])
    assert constant > 0
    assert scip_optimum(out) + constant == pytest.approx(dlsched.read(instance).known.optimum, rel=1e-6)


@pytest.fixture
def schema(cli: Any) -> dict[str, Any]:
    return dict(cli("schema", "ring_allocation").json)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object schema in a schema."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_closed_schema(family: str, cli: Any) -> None:
    """JSON alone is printed; the format is fixed and required, and no object takes unknown fields."""
    ended = cli("schema", family)
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert ended.json["properties"]["format"]["const"] == f"dlsched/{family}/1"
    assert "format" in ended.json["required"]
    assert "jobs" in ended.json["required"]
    for part in objects(ended.json):
        assert part["additionalProperties"] is False
        assert set(part.get("required", ())) <= set(part["properties"])


def test_the_fields_are_the_documented_ones(schema: dict[str, Any]) -> None:
    """Those of the contract, with what is required."""
    assert set(schema["properties"]) == {"format", "name", "source", "known", "gpus", "jobs"}
    assert set(schema["required"]) == {"format", "name", "gpus", "jobs"}
    job, law, known = (schema["$defs"][name] for name in ("Job", "SpeedLaw", "Known"))
    defaults = {"weight", "restart_s", "current_gpus", "max_gpus"}
    assert set(job["properties"]) == {"id", "epochs", "epoch_time_s", "speed_law"} | defaults
    assert set(job["required"]) == {"id", "epochs"}
    assert set(law["properties"]) == set(law["required"]) == {"theta", "samples", "model_bytes"}
    assert (set(known["properties"]), known["required"]) == ({"optimum", "lower", "upper", "proof"}, ["proof"])
    assert schema["properties"]["jobs"]["minItems"] == 1
    assert (law["properties"]["theta"]["minItems"], law["properties"]["theta"]["maxItems"]) == (4, 4)


def test_instances_pass_and_malformed_ones_do_not(schema: dict[str, Any], two_jobs: dict[str, Any], cli: Any) -> None:
    """By an independent validator, where it is installed."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema)
    shipped = [json.loads(path.read_text(encoding="utf-8")) for path in INSTANCES.glob("ring_allocation/*.json")]
    presets = FAMILIES["ring_allocation"].presets
    generated = [cli("generate", "ring_allocation", "--preset", preset).json for preset in presets]
    for data in [two_jobs, *shipped, *generated]:
        validator.validate(data)
    wrong = [
        two_jobs | {"colour": 1},
        two_jobs | {"gpus": 0},
        two_jobs | {"gpus": "6"},
        two_jobs | {"jobs": []},
        two_jobs | {"format": "dlsched/ring_allocation/2"},
        {key: value for key, value in two_jobs.items() if key != "name"},
        two_jobs | {"jobs": [two_jobs["jobs"][0] | {"epoch_time_s": {"01": 1.0}}]},
        two_jobs | {"jobs": [two_jobs["jobs"][0] | {"epoch_time_s": {}}]},
        two_jobs | {"jobs": [two_jobs["jobs"][0] | {"epoch_time_s": {"1": 0}}]},
    ]
    for data in wrong:
        assert not validator.is_valid(data)
