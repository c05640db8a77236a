"""Computing stores anew: what was run is true, and what cannot be computed is called claimed."""

import json
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import Ended

from dlsched import study
from dlsched.study.plans.plan_file import make_plan
from tests.study.forging import checked
from tests.study.stores_by_hand import NAMES, as_before, edit


@pytest.mark.parametrize("name", NAMES)
def test_what_was_run_is_true(name: str, stores: Callable[[str], Path], here: None) -> None:
    """Every row; those of dlsched's own methods again, too."""
    with study.open(stores(name)) as opened:
        rows = {(row.instance, row.method): row for row in opened.rows()}
    for again in (False, True):
        found = checked(stores(name), again=again)
        assert set(found) == set(rows) and not [each.failures for each in found.values() if not each]
    for key, each in found.items():
        assert each.objective == rows[key].objective
        assert (each.verified_bound is None) <= (each.claimed_bound == rows[key].bound)
        held = rows[key].objective is not None or each.verified_bound is not None or rows[key].status == "infeasible"
        assert bool(each.verified) == held


def test_rows_without_an_answer_are_claimed(stores: Callable[[str], Path], here: None) -> None:
    found = checked(stores("ring"))
    claimed = [each for each in found.values() if not each.verified]
    assert len(claimed) == 3 and all(each.claimed == ["it ended as no_solution"] for each in claimed)


def test_a_store_of_before_can_be_computed_anew(stores: Callable[[str], Path], tmp_path: Path, here: None) -> None:
    """Who proved a bound is not known of it."""
    path = Path(shutil.copy(stores("ring"), tmp_path / "s"))
    as_before(path)
    assert all(checked(path).values())


def test_instances_that_searches_found_and_those_that_functions_draw(tmp_path: Path, here: None) -> None:
    """And instance files; of another instance in the place of one that was found or drawn nothing is true."""
    (tmp_path / "mine.py").write_text(
        "from dlsched import ring_allocation\n\ndef draw(seed, jobs):\n"
        "    return ring_allocation.generate(jobs=jobs, gpus=8, seed=seed + 100)\n",
        encoding="utf-8",
    )
    import dlsched

    dlsched.write(dlsched.ring_allocation.example(), tmp_path / "one.json")
    sources = [
        {"family": "ring_allocation", "worst": "doubling", "jobs": 2, "gpus": 8, "budget": 30, "seeds": "0:2"},
        {"family": "ring_allocation", "python": "mine.py:draw", "jobs": 3, "seeds": "0:2"},
        {"files": ["one.json"]},
    ]
    plan = make_plan(instances=sources, methods=["exact", "doubling"], folder=tmp_path)
    study.run(plan, tmp_path / "s", workers=1).close()
    assert len(checked(tmp_path / "s")) == 10 and all(checked(tmp_path / "s").values())
    other = dlsched.ring_allocation.generate(jobs=2, gpus=8, seed=9).as_data()
    packed = zlib.compress(json.dumps(other).encode()).hex()
    edit(tmp_path / "s", f"UPDATE found SET instance = x'{packed}'")
    false = [key for key, each in checked(tmp_path / "s").items() if not each]
    assert len(false) == 8


def test_the_command_says_what_is_what(
    stores: Callable[[str], Path], tmp_path: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table and lists of sentences, exit 0; a false row is named, exit 7; in processes of their own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(stores("ring"), "s")
    shutil.copy(stores("ring").with_name("own.py"), "own.py")
    ended = cli("study", "check", "s", "--workers", "2")
    assert (ended.code, ended.err) == (0, "")
    said = {line.split()[1]: line.split()[2:] for line in ended.out.splitlines() if line.startswith(" ring_allocation")}
    assert set(said) == {"exact", "doubling", "fixed", "lagrange", "mine"}
    assert said["doubling"] == ["6", "6", "6", "0", "0"] and said["fixed"] == ["6", "3", "6", "3", "0"]
    listed = cli("study", "check", "s", "--workers", "1", "--json").json
    assert len(listed) == 30 and {"key", "instance", "method", "verified", "recomputed", "claimed", "failures"} <= set(
        listed[0]
    )
    edit(
        Path("s"),
        "UPDATE result SET solution = (SELECT solution FROM result WHERE cell = 3) WHERE cell = 2",
        "UPDATE result SET objective = objective * 1.5 WHERE cell = 7",
    )
    ended = cli("study", "check", "s", "--workers", "1")
    assert ended.code == 7 and ended.err == ""
    assert "FAILED  doubling on mixed-2x3-seed1 (seed 1): objective: " in ended.out
    assert cli("study", "show", "s").code == 0  # rows that are false need not contradict each other


def test_ctrl_c_ends_it_with_what_was_computed(tmp_path: Path) -> None:
    """And leaves nothing behind; the second instance is large by the store's word, and takes a minute to generate."""
    source = {"family": "ring_allocation", "jobs": 3, "gpus": 8, "seeds": "0:3"}
    study.run(make_plan(instances=source, methods=["doubling", "equal"], folder=tmp_path), tmp_path / "s", workers=1)
    large = {"generate": {"preset": "mixed", "jobs": 100_000, "gpus": 800_000, "max_gpus": 64, "seed": 1}}
    packed = zlib.compress(json.dumps(large).encode()).hex()
    edit(tmp_path / "s", f"UPDATE instance SET recipe = x'{packed}' WHERE seed > 0")
    command = [sys.executable, "-m", "dlsched", "study", "check", "s", "--workers", "1", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        process = psutil.Process(running.pid)
        while len(process.children(recursive=True)) < 2:
            assert running.poll() is None
            time.sleep(0.02)
        time.sleep(2.0)  # its process computes the rows of seed 0, and waits within the next instance
        started = process.children(recursive=True)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 5 and err.startswith("dlsched: interrupted; ") and err.count("\n") == 1
    assert all(not each["failures"] for each in json.loads(out))
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not [each for each in alive if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
