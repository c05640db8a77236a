"""Instances as Parquet and packed JSON on the command line: what commands print does not depend on the format of the file."""

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("family", ["ring_allocation", "async_sgd"])
def test_commands_take_all_formats(family: str, cli: Any, tmp_path: Path) -> None:
    """The same answers and hash; results are read packed, too."""
    shown = []
    for ending in (".json", ".json.gz", ".parquet"):
        file, result = tmp_path / f"a{ending}", tmp_path / f"result{ending.replace('.parquet', '.json.gz')}"
        assert cli("generate", family, "--jobs", 4, "--seed", 5, "-o", file).code == 0
        assert cli("solve", file, "-o", result).code == 0
        checked, bound = cli("check", file, result), cli("bound", file)
        assert (checked.code, bound.code) == (0, 0)
        row = cli("compare", file, "--methods", "exact", "--solutions", result, "--csv").out.splitlines()
        shown.append(
            (
                bound.out.split("  time")[0],
                checked.out.split("claimed: runtime")[0],
                [line.split(",")[:6] for line in row],
            )
        )
    assert shown[0] == shown[1] == shown[2]


def test_an_instance_may_stand_behind_solutions(cli: Any, tmp_path: Path) -> None:
    """Whatever its format."""
    file = tmp_path / "a.parquet"
    cli("generate", "ring_allocation", "--jobs", 3, "-o", file)
    assert cli("compare", "--solutions", file, "--methods", "exact", "--csv").out.count("\n") == 2


def test_a_result_is_no_parquet(cli: Any, tmp_path: Path) -> None:
    """Said before anything is solved; exit code 2."""
    file = tmp_path / "a.parquet"
    cli("generate", "ring_allocation", "--jobs", 3, "-o", file)
    ended = cli("solve", file, "-o", tmp_path / "r.parquet")
    assert (ended.code, ended.out) == (2, "")
    assert "found .parquet for a result, allowed: JSON, such as .json or .json.gz" in ended.err


def test_damage_has_the_exit_code_of_bad_files(cli: Any, tmp_path: Path) -> None:
    """One line, exit code 3, nothing printed."""
    for ending in (".json.gz", ".parquet"):
        file = tmp_path / f"a{ending}"
        cli("generate", "ring_allocation", "--jobs", 3, "-o", file)
        file.write_bytes(file.read_bytes()[:-9])
        ended = cli("solve", file)
        assert (ended.code, ended.out, ended.err.count("\n")) == (3, "", 1)
        assert ended.err.startswith(f"dlsched: {file}: found no whole ")


def test_studies_take_files_of_all_formats(cli: Any, tmp_path: Path) -> None:
    """A plan names them by patterns."""
    for ending in (".json.gz", ".parquet"):
        cli("generate", "ring_allocation", "--jobs", 3, "--seed", len(ending), "-o", tmp_path / f"a{ending}")
    plan = tmp_path / "plan.toml"
    text = 'format = "dlsched/study/1"\nname = "s"\ninstances = [{files = "a.*"}]\nmethods = [{name = "exact"}]\n'
    plan.write_text(text, encoding="utf-8")
    assert cli("study", "run", plan, "--workers", 1).code == 0
    assert cli("study", "export", tmp_path / "plan.study.sqlite").out.count("optimal") == 2
