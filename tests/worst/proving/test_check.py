"""``dlsched check`` of a certificate of a supremum."""

from typing import Any

import pytest

from dlsched.worst.proving import prove

DOUBLING = {"method": "doubling", "gpus": 5}


@pytest.fixture
def save(tmp_path: Any) -> Any:
    """Write data as JSON and return the path."""
    import json

    def write(data: Any, name: str) -> Any:
        path = tmp_path / name
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


def test_a_true_proof_is_verified(cli: Any, save: Any) -> None:
    """What it is the supremum of, and what the instance has; 5/4 for doubling on 5 GPUs by hand: 10, 8 / 4 + 2, 1."""
    proven = prove("ring_allocation", **DOUBLING)
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.splitlines()
    asked = "verified: doubling, 2 jobs on 5, convex tables, counts powers: "
    assert first.startswith(f"{asked}the supremum of objective / optimum is 5/4 (")
    assert second == "verified: the instance has 5/4, the largest there is"


def test_no_bound_is_said(cli: Any, save: Any) -> None:
    """Where there is no supremum."""
    proven = prove("ring_allocation", "marginal", gpus=5, tables="monotone")
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert ended.code == 0
    assert "objective / optimum has no bound" in ended.out
    assert f"the instance has {proven.ratio}\n" in ended.out


def test_a_forged_proof_is_7(cli: Any, save: Any) -> None:
    """The supremum of 6 GPUs is not that of 5."""
    proven = prove("ring_allocation", **DOUBLING)
    forged = save(proven.as_data() | {"supremum": "1"}, "proof.json")
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), forged)
    assert ended.code == 7
    assert ended.out.startswith("FAILED  proof: ")


def test_a_proof_of_another_instance_or_none_is_3(cli: Any, save: Any) -> None:
    """It names the file."""
    proven, other = prove("ring_allocation", **DOUBLING), prove("ring_allocation", "doubling", gpus=9)
    ended = cli("check", save(other.instance.as_data(), "instance.json"), save(proven.as_data(), "proof.json"))
    assert ended.code == 3
    assert "proof.json: instance: found 'worst-doubling-2-jobs-5-gpus-convex-powers'" in ended.err
    ended = cli("check", save(proven.instance.as_data(), "instance.json"), save({"kind": "worst"}, "proof.json"))
    assert ended.code == 3
    assert "proof.json: certificate: found the fields" in ended.err
