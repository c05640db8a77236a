"""Kills at random moments: nothing that had ended is lost, nothing counted twice, and a rerun ends as if nobody had killed.

A moment is a number of rows in the store, not a time; who is killed then is drawn. The leader is killed last.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dlsched.study.study import Study
from study.cells_at_hand import functions, lives
from tests.study.small import rows_of

LEADER = """
import sys
from study.cells_at_hand import PROGRAM, command, function, named
from pathlib import Path
from dlsched.study.leader import run
from dlsched.study.plans.plan import Generated, Plan

def main(folder, engine, instances, retry):
    own = Path(folder) / "own.py"
    methods = (*map(named, ("exact", "doubling", "milp")), function(own, "draws"), function(own, "answers_none"),
               command(sys.executable, "-c", PROGRAM, "{instance}"))
    grid = {"preset": ("mixed",), "jobs": (3,), "gpus": (8,), "seed": tuple(range(instances))}
    said = []
    plan = Plan("kills", (Generated("ring_allocation", grid),), methods, folder=Path(folder))
    run(plan, Path(folder) / "store.sqlite", workers=2, engine=engine, retry=retry, progress=said.append)
    print(said[-1].cells, said[-1].ended)

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].split(","))
"""
RETRY = "killed,error,solver_error"
METHODS = 6
Ended = dict[str, tuple[str, float | None]]


class Leader:
    """A study that runs in a process of its own."""

    def __init__(self, folder: Path, engine: str, instances: int) -> None:
        self.store = folder / "store.sqlite"
        script = folder / "leader.py"
        script.write_text(LEADER, encoding="utf-8")
        paths = os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(folder), engine, str(instances), RETRY],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(folder / "temporary")},
        )

    def ended(self) -> Ended:
        """Status and objective of each cell that has a row by now."""
        if not self.store.exists():
            return {}
        database = sqlite3.connect(f"{self.store.as_uri()}?mode=ro", uri=True, timeout=10)
        try:
            rows = database.execute("SELECT key, status, objective FROM result JOIN cell ON cell.id = cell").fetchall()
        except sqlite3.OperationalError:  # it is being made
            rows = []
        finally:
            database.close()
        return {key: (status, objective) for key, status, objective in rows}

    def wait_for(self, rows: int) -> bool:
        """Wait until there are so many; False where it ended before."""
        while len(self.ended()) < rows:
            if self.process.poll() is not None:
                return False
            time.sleep(0.005)
        return True

    def descendants(self) -> dict[str, list[psutil.Process]]:
        """Wardens, processes of cells, solvers, and workers of a cluster."""
        found: dict[str, list[psutil.Process]] = {"warden": [], "serving": [], "solver": [], "worker": []}
        try:
            for each in psutil.Process(self.process.pid).children(recursive=True):
                words, above = " ".join(each.cmdline()), " ".join(each.parent().cmdline())
                if "cells.runner:serve" in words:
                    found["serving" if "cells.runner:serve" in above else "warden"].append(each)
                elif "solvers.child:serve" in words and "solvers.child:serve" in above:
                    found["solver"].append(each)
                elif "spawn_main" in words:
                    found["worker"].append(each)
        except (psutil.Error, AttributeError):
            pass  # one ended while we looked
        return found

    def kill(self, what: str) -> bool:
        """Kill the first of them; False where there is none now."""
        for each in self.descendants()[what][:1]:
            each.kill()
            return True
        return False


Rows = list[dict[str, object]]


def stored(store: Path) -> Rows:
    """Its rows, times aside."""
    with Study(store) as study:
        return rows_of(study)


def prepared(folder: Path) -> Path:
    """A plan's folder."""
    (folder / "temporary").mkdir(parents=True)
    functions(folder)
    return folder


def undisturbed(folder: Path, instances: int) -> Rows:
    """The rows of a run without kills."""
    leader = Leader(prepared(folder), "local", instances)
    out, err = leader.process.communicate()
    assert out.split() == [str(METHODS * instances)] * 2, err
    return stored(leader.store)


def disturbed(folder: Path, engine: str, instances: int, moments: int, seed: int) -> tuple[Rows, list[str]]:
    """Kill at some moments, the leader at the last; run again; return the rows and who was killed."""
    chance = random.Random(seed)
    victims = ["warden", "serving", "solver"] + ["worker"] * (engine == "dask")
    leader = Leader(prepared(folder), engine, instances)
    killed: list[str] = []
    before: Ended = {}
    for rows in sorted(chance.sample(range(1, METHODS * instances * 3 // 4), moments)):
        going = leader.wait_for(rows)
        now = leader.ended()
        assert before.items() <= now.items(), "what had ended is lost"
        before = now
        if not going:
            break
        last = len(killed) == moments - 1
        victim = "leader" if last else chance.choice(victims)
        family = psutil.Process(leader.process.pid).children(recursive=True) if last else []
        if last:
            leader.process.kill()
            leader.process.wait()
            while any(lives(each.pid) for each in family):
                time.sleep(0.005)  # for ever, if one is left
        else:
            while leader.process.poll() is None and not leader.kill(victim):
                time.sleep(0.005)
        killed.append(victim)
    leader.process.communicate()
    assert before.items() <= leader.ended().items(), "what had ended is lost"
    again = Leader(folder, engine, instances)
    out, err = again.process.communicate()
    assert out.split() == [str(METHODS * instances)] * 2, err
    while len(list((folder / "temporary").glob("dlsched-*"))) > killed.count("warden"):
        time.sleep(0.01)  # a warden removes its folder; one that is killed together with who started it cannot
    return stored(again.store), killed


@pytest.mark.long
def test_many_kills(tmp_path: Path):
    """Fifty moments, in runs of five, on both engines in turn."""
    plain = undisturbed(tmp_path / "undisturbed", 10)
    figures: dict[str, int] = {}
    for seed in range(10):
        engine = ("local", "dask")[seed % 2]
        rows, killed = disturbed(tmp_path / str(seed), engine, 10, 5, seed)
        assert rows == plain, f"seed {seed}"
        for victim in killed:
            figures[f"{engine} {victim}"] = figures.get(f"{engine} {victim}", 0) + 1
    print(json.dumps(figures))
    assert sum(figures.values()) == 50
