"""``dlsched schema``: a JSON Schema that takes what is valid and refuses what one field alone shows to be wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlsched.families import FAMILIES, read

INSTANCES = Path(__file__).parents[2] / "instances"


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


def test_shipped_instances_are_read() -> None:
    """Files under instances/ are valid, and their proofs are plain text; tests/test_instances.py solves every one."""
    paths = sorted(INSTANCES.glob("*/*.json"))
    assert paths
    for path in paths:
        known = read(path).known
        assert known is None or "np." not in known.proof, path
