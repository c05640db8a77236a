"""``dlsched worst --prove`` of policies of elastic_stream, and ``dlsched check`` of their certificates."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

ASKED = ("worst", "elastic_stream", "--method", "equal", "--speeds", "1,7/4,9/4")


def test_proven_written_and_verified(
    cli: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fraction for each number of jobs; the certificate is verified beside its instance."""
    monkeypatch.chdir(tmp_path)
    said = cli(*ASKED, "--jobs", 3, "--prove", "--certificate", "proof.json", "--json").json
    assert (said["proven"], said["evaluations"]) == ("129/76", 0)
    assert [each["supremum"] for each in said["suprema"]] == ["1", "3/2", "129/76"]
    ended = cli(*ASKED, "--jobs", 3, "--prove", "-o", "worst.json")
    assert (ended.code, ended.err) == (0, "")
    assert "3 jobs: at most 129/76" in cli(*ASKED, "--jobs", 3, "--prove").out
    checked = cli("check", "worst.json", "proof.json")
    assert checked.code == 0
    assert "the supremum of objective / optimum is 129/76" in checked.out
    forged = json.loads((tmp_path / "proof.json").read_text()) | {"supremum": "2"}
    (tmp_path / "proof.json").write_text(json.dumps(forged))
    assert cli("check", "worst.json", "proof.json").code == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*ASKED], "allowed: with --prove"),
        ([*ASKED[:4], "--prove"], "speeds: found none"),
        ([*ASKED, "--prove", "--tables", "any"], "tables: found an option"),
        (["worst", "ring_allocation", "--method", "doubling", "--speeds", "1,2", "--prove"], "for elastic_stream"),
        ([*ASKED[:4], "--speeds", "2,1", "--prove"], "that do not fall"),
        (["worst", "elastic_stream", "--method", "plan", "--speeds", "1,2", "--prove"], "knows the whole stream"),
    ],
)
def test_what_is_refused(words: list[str], said: str, cli: Callable[..., Ended]) -> None:
    """Exit code 2, and why."""
    ended = cli(*words)
    assert ended.code == 2
    assert said in ended.err
