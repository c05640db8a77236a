"""Best-known values of the library of instances: ``instances/index.csv``; ``library.py`` says what lies where.

    python benchmarks/best_known.py                      # tries to improve the open rows, 60 s each
    python benchmarks/best_known.py --only '*rings*' --time-limit 600
    python benchmarks/best_known.py --classify           # asks general solvers, at most 60 s a run
    python benchmarks/best_known.py --draw               # writes the instances of middle.txt that are not there
    python benchmarks/best_known.py --check              # verifies every row without a solver

Each run is added to ``instances/runs.csv`` when it ends, and the row follows; what ran at least as long before does not run
again, so an interrupted command goes on where it was. A result enters the library only if ``dlsched.verify`` finds nothing false.

======  ===========================================================================================================
status  meaning
======  ===========================================================================================================
easy    a general solver, given a model of dlsched, proved the optimum in 60 s, with dlsched's start and bounds
hard    proven, but by no general solver within the time that the feature ``tried_s`` states; final from 60 on
open    not proven: the bound does not meet the best answer (relative 1e-6)
======  ===========================================================================================================
"""

import argparse
import contextlib
import datetime
import fcntl
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import library
from library import COLUMNS, EASY_S, GENERAL, ROOT, RUN_COLUMNS, SAME, Row, best_file, key_of

import dlsched
from dlsched import FAMILIES, Limits
from dlsched.core.errors import DlschedError
from dlsched.core.files import json_text
from dlsched.core.gap import meets
from dlsched.core.result import Result
from dlsched.proofs.verification import verify_proof
from dlsched.results.verification import Verification

COMMANDS = Path(__file__).parent / "middle.txt"
EXACT = ("exact", "")


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Only one process at a time changes the tables."""
    with (root / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def draw_all(root: Path, commands: Iterable[str]) -> list[Path]:
    """Write the instances of these commands that are not there yet."""
    drawn = []
    for command in commands:
        instance = library.draw(command)
        path = root / instance.family / "middle" / f"{instance.name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            dlsched.write(instance, path)
            drawn.append(path)
    return drawn


def read_commands(file: Path = COMMANDS) -> list[str]:
    """The commands of a list, one a line; empty lines and comments are left out."""
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def stronger(result: Result[Any], other: Result[Any] | None) -> bool:
    """Whether a result's bound is stronger than another's; of equal ones that with the stronger certificate."""
    if other is None:
        return result.bound is not None
    for mine, theirs in ((result.bound, other.bound), (_certified(result), _certified(other))):
        if mine is None or (theirs is not None and meets(mine, theirs, result.constant, within=SAME)):
            continue
        return theirs is None or result.sense.better(theirs, mine)
    return False


def better(result: Result[Any], other: Result[Any]) -> bool:
    """Whether a result has a better answer than another; of equal answers the one with the stronger bound."""
    if result.objective is None or other.objective is None:
        return result.objective is not None
    if meets(result.objective, other.objective, result.constant, within=SAME):
        return stronger(result, other)
    return result.sense.better(result.objective, other.objective)


def _certified(result: Result[Any]) -> float | None:
    return None if result.certificate is None else result.certificate.value


def store(path: Path, instance: Any, result: Result[Any]) -> None:
    """Keep a result if it has a better answer or a stronger bound; RuntimeError: something in it is false."""
    found = dlsched.verify(instance, result)
    if not found:
        raise RuntimeError(f"{path}: {result.method}: {'; '.join(found.failures)}")
    files = {kind: best_file(path, kind) for kind in ("result", "bound")}
    held = [claim.result for file in files.values() if (claim := library.read_claim(file)) is not None]
    results = [each for each in (*held, result) if each is not None]
    answer = strongest = results[0]
    for each in results[1:]:
        if better(each, answer):
            answer = each
        if stronger(each, strongest):
            strongest = each
    if answer is result:
        library.write_result(result, files["result"])
    if not stronger(strongest, answer):
        files["bound"].unlink(missing_ok=True)
    else:  # the answer's own run proves less
        library.write_result(strongest, files["bound"])


def attempt(path: Path, model: tuple[str, str], limit_s: float, root: Path) -> Row:
    """Run a method on an instance, keep what is better, and note the run."""
    instance = dlsched.read(path)
    method, solver = model
    run = {"instance": key_of(path, root), "method": method, "solver": solver, "limit_s": f"{limit_s:g}"}
    run |= {"status": "refused", "objective": "", "bound": "", "runtime_s": "0", "date": f"{datetime.date.today()}"}
    try:
        result = dlsched.solve(instance, method=method, solver=solver or None, limits=Limits(time_s=limit_s))
    except DlschedError as error:
        # The method does not take such instances, or its model would be too large: it proves nothing.
        print(f"{run['instance']}: {method} {solver}: {error}", file=sys.stderr)
    else:
        values = {"objective": result.objective, "bound": result.bound}
        run |= {name: "" if value is None else repr(value) for name, value in values.items()}
        run |= {"status": str(result.status), "runtime_s": f"{result.runtime_s:.3g}"}
        with locked(root):
            store(path, instance, result)
    with locked(root):
        runs = [each for each in library.read_rows(root / "runs.csv") if _run_key(each) != _run_key(run)]
        runs = sorted([*runs, run], key=_run_key)
        library.write_rows(root / "runs.csv", runs, RUN_COLUMNS)
        index = {row["instance"]: row for row in library.read_rows(root / "index.csv")}
        index[run["instance"]] = library.row_of(path, runs, root)
        library.write_rows(root / "index.csv", [index[key] for key in sorted(index)], COLUMNS)
    return run


def _run_key(run: Row) -> tuple[str, ...]:
    return run["instance"], run["method"], run["solver"]


def rebuild(root: Path) -> None:
    """Write all rows anew from the files."""
    with locked(root):
        runs = library.read_rows(root / "runs.csv")
        rows = [library.row_of(path, runs, root) for path in library.paths(root)]
        library.write_rows(root / "index.csv", sorted(rows, key=lambda row: row["instance"]), COLUMNS)


def has_run(key: str, model: tuple[str, str], limit_s: float, root: Path) -> bool:
    """Whether a method has run on an instance for as long, or ended before its limit."""
    for run in library.read_rows(root / "runs.csv"):
        if (run["instance"], run["method"], run["solver"]) == (key, *model):
            return float(run["limit_s"]) >= limit_s or run["status"] not in ("time_limit", "interrupted")
    return False


def improve(paths: Iterable[Path], limit_s: float, root: Path) -> None:
    """Run the exact method on all rows that are open or have no answer yet."""
    status = {row["instance"]: row for row in library.read_rows(root / "index.csv")}
    for path in paths:
        key = key_of(path, root)
        row = status.get(key)
        if (row is None or row["status"] == "open" or not row["best"]) and not has_run(key, EXACT, limit_s, root):
            _say(attempt(path, EXACT, limit_s, root))


def classify(paths: Iterable[Path], limit_s: float, root: Path) -> None:
    """Give the models to general solvers until one proves the optimum: the first model of all, then the others."""
    paths = list(paths)
    for turn in range(max(map(len, GENERAL.values()))):
        easy = {row["instance"] for row in library.read_rows(root / "index.csv") if row["status"] == "easy"}
        for path in paths:
            key, models = key_of(path, root), GENERAL[path.relative_to(root).parts[0]]
            if turn < len(models) and key not in easy and not has_run(key, models[turn], limit_s, root):
                _say(attempt(path, models[turn], limit_s, root))


def _say(run: Row) -> None:
    print(*(run[name] for name in RUN_COLUMNS if run[name]), flush=True)


def check_row(path: Path, row: Row, runs: list[Row], *, proofs: bool = True, root: Path = ROOT) -> Iterator[str]:
    """Yield what is wrong with a row, by the checker, the certificates and the proofs alone; nothing is solved."""
    fresh = library.row_of(path, runs, root)
    for name in COLUMNS:
        if row[name] != fresh[name]:
            yield f"{name}: {row[name]!r}, from the files follows {fresh[name]!r}"
    instance = dlsched.read(path)
    family = FAMILIES[instance.family]
    verified: dict[Path, Verification] = {}
    for kind in ("result", "bound"):
        file = best_file(path, kind)
        claim = library.read_claim(file)
        if claim is not None:
            if not claim.of(instance):
                yield f"{file.name}: of another instance"
                continue
            verified[file] = dlsched.verify(instance, claim)
            yield from (f"{file.name}: {failure}" for failure in verified[file].failures)
    best, bound = (float(row[name]) if row[name] else None for name in ("best", "bound"))
    answer = verified.get(best_file(path, "result"))
    reached = None if answer is None else answer.objective
    constant = family.constant(instance)
    if best is None or reached is None or not meets(best, reached, constant, within=SAME):
        yield f"best: {best!r}, the stored answer has {reached!r}"
    if best is not None and bound is not None:
        larger = max(abs(best - constant), abs(bound - constant))
        open_part = abs(best - bound) / larger if larger else 0.0
        if abs(open_part - float(row["gap"])) > 1e-2 * open_part:  # the row has three digits of it
            yield f"gap: {row['gap']}, best and bound leave {open_part}"
        if (row["status"] == "open") == meets(best, bound, constant):
            yield f"status: {row['status']}, with a gap of {open_part}"
    proof = root / row["proof"] if row["proof"] else None
    if proof in verified:
        proven = verified[proof].verified_bound
        if proven is None or bound is None or not meets(bound, proven, constant, within=SAME):
            yield f"bound: {bound!r}, the certificate proves {proven!r}"
    elif proof is not None and proofs:
        found = Verification()
        fields = verify_proof(proof, instance, found)
        yield from found.failures
        side = "lower" if str(family.sense_for(instance)) == "minimize" else "upper"
        proven = None if fields is None else fields[side]
        if not isinstance(proven, float) or bound is None or not meets(bound, proven, constant):
            yield f"bound: {bound!r}, the proof has {proven!r}"
    yield from check_source(path, row)


def check_source(path: Path, row: Row) -> Iterator[str]:
    """Yield a sentence if the command that made an instance does not make it again; the middle classes to the byte."""
    if not row["made_by"].startswith((library.DRAWN, library.KNAPSACK)):
        return
    again = library.draw(row["made_by"])
    if path.parent.name == "middle":
        if json_text(again.as_data()).encode() != path.read_bytes():
            yield "made_by: makes other bytes"
    elif again.sha256 != row["sha256"]:
        yield f"made_by: makes {again.sha256}"


def check_table(root: Path = ROOT) -> Iterator[str]:
    """Yield what is wrong with the tables as a whole: each instance has one row, and each stored result an instance."""
    keys = [row["instance"] for row in library.read_rows(root / "index.csv")]
    files = [key_of(path, root) for path in library.paths(root)]
    if keys != sorted(files):
        yield f"index.csv: rows and files differ in {', '.join(sorted(set(keys) ^ set(files))[:5]) or 'order'}"
    stored = {best_file(path, kind) for path in library.paths(root) for kind in ("result", "bound")}
    yield from (f"{path}: of no instance" for path in sorted(root.glob("*/best/*")) if path not in stored)


def check(paths: Iterable[Path], root: Path) -> int:
    """Verify rows; returns how many findings there are."""
    rows, runs = (
        {row["instance"]: row for row in library.read_rows(root / "index.csv")},
        library.read_rows(root / "runs.csv"),
    )
    wrong = [*check_table(root)]
    for path in paths:
        key = key_of(path, root)
        if key in rows:
            wrong += [f"{key}: {finding}" for finding in check_row(path, rows[key], runs, root=root)]
    print("\n".join(wrong) or f"{len(rows)} rows verified")
    return len(wrong)


def main(given: list[str] | None = None, root: Path = ROOT) -> int:
    """Run a command; 7 if ``--check`` finds something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    doing = parser.add_mutually_exclusive_group()
    for name in ("draw", "classify", "check", "rebuild"):
        doing.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", default="*", metavar="GLOB", help="instances by their path below instances/")
    parser.add_argument("--time-limit", type=float, default=EASY_S, metavar="S", help="seconds a run")
    asked = parser.parse_args(given)
    if asked.draw:
        print("\n".join(map(str, draw_all(root, read_commands()))))
        return 0
    paths = [path for path in library.paths(root) if fnmatch(key_of(path, root), asked.only)]
    if asked.check:
        return 7 if check(paths, root) else 0
    if asked.classify:
        classify(paths, min(asked.time_limit, EASY_S), root)
    elif not asked.rebuild:
        improve(paths, asked.time_limit, root)
    rebuild(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
