"""The library of instances: a row of ``instances/index.csv`` for each file, from the files alone.

==========================================  =========================================================================
file below ``instances/``                   what it is
==========================================  =========================================================================
``FAMILY/NAME.json``                        an instance; its ``known`` may state an optimum or bounds
``FAMILY/middle/NAME.json``                 one of the middle classes, drawn by a command of ``benchmarks/middle.txt``
``FAMILY/best/NAME.result.json.gz``         the result with the best answer
``FAMILY/best/NAME.bound.json.gz``          the result with the strongest bound, where another run than that proved it
``FAMILY/NAME.vipr.gz``                     a proof of the optimum, in VIPR 1.0
``runs.csv``                                a row for each run of a method: what it ended with, and when
``index.csv``                               a row for each instance; follows from all of these
==========================================  =========================================================================

Names of instances are unique within a family, so that ``best`` needs no further folders.
"""

import csv
import gzip
import hashlib
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import hard_knapsacks

import dlsched
from dlsched import FAMILIES
from dlsched.async_sgd.costs import cost_table as nodes_table
from dlsched.core.files import json_text, whole_file, write_text
from dlsched.core.gap import gap, meets
from dlsched.core.result import Result
from dlsched.results.reading import Claim, claim_from
from dlsched.ring_allocation.costs import cost_table as gpus_table

ROOT = Path(__file__).parents[1] / "instances"
COLUMNS = (
    *("instance", "family", "sha256", "size", "load", "made_by", "features", "status", "best", "bound", "gap"),
    *("found_by", "proven_by", "date", "proof", "licence", "split"),
)
RUN_COLUMNS = ("instance", "method", "solver", "limit_s", "status", "objective", "bound", "runtime_s", "date")
GENERAL: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ring_allocation": (("milp", "highs"), ("milp", "cpsat")),
    "elastic_stream": (("milp", "highs"),),
    "matching_placement": (("milp", "highs"), ("assignment", "highs")),
    "srpt_mapping": (("intervals", "cpsat"), ("milp", "highs")),
    "ring_embedding": (("circuit", "cpsat"), ("milp", "highs")),
    "async_sgd": (("milp", "highs"), ("milp", "cpsat")),
}
"""The models that general solvers get; an instance is easy if one of them proves it in ``EASY_S``."""
EASY_S = 60.0
FIFTH = 5  # of the instances, one in so many is for testing
SAME = 1e-9  # objectives that differ by less are equal; of two such bounds the one that is verified stays
UNTIMED = {"id", "arrival_s", "arrival_slot", "release_s"}  # what jobs may differ in and be ties all the same
LICENCE = re.compile(r"\((MIT|Apache-2\.0|CC-BY 4\.0)\)")
OWN_LICENCE = "MIT"
REALS = ("load", "tick", "alpha", "energy_price")  # options of ``dlsched generate`` that are no whole numbers
DRAWN, KNAPSACK = "dlsched generate ", "python benchmarks/hard_knapsacks.py "

Row = dict[str, str]


def paths(root: Path = ROOT) -> list[Path]:
    """All instances, by family and name."""
    return sorted([*root.glob("*/*.json"), *root.glob("*/middle/*.json")])


def key_of(path: Path, root: Path = ROOT) -> str:
    """How rows name an instance: by its path below ``instances/``."""
    return path.relative_to(root).as_posix()


def best_file(path: Path, kind: str) -> Path:
    """Where the result of an instance lies; ``kind``: ``result`` or ``bound``."""
    family = path.parent.parent if path.parent.name == "middle" else path.parent
    return family / "best" / f"{path.stem}.{kind}.json.gz"


def read_rows(file: Path) -> list[Row]:
    """Rows of a table; none where there is no file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(file: Path, rows: Iterable[Row], columns: tuple[str, ...]) -> None:
    """Write a table whole or not at all."""
    stream = io.StringIO()
    table = csv.DictWriter(stream, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_text(file, stream.getvalue())


def read_claim(file: Path) -> Claim | None:
    """Content of a stored result; None where there is no file."""
    return claim_from(json.loads(gzip.decompress(file.read_bytes())), file) if file.exists() else None


def write_result(result: Result[Any], file: Path) -> None:
    """Store a result, the same bytes for the same result."""
    file.parent.mkdir(exist_ok=True)
    with whole_file(file) as stream:
        stream.write(gzip.compress(json_text(result.as_data()).encode(), 9, mtime=0))


def draw(command: str) -> Any:
    """Make an instance by the command that ``made_by`` states; ValueError: it is none that draws."""
    if command.startswith(KNAPSACK):
        return hard_knapsacks.drawn(hard_knapsacks.arguments(shlex.split(command[len(KNAPSACK) :])))
    if not command.startswith(DRAWN):
        raise ValueError(f"{command!r}, allowed: {DRAWN}... or {KNAPSACK}...")
    family, *options = shlex.split(command[len(DRAWN) :])
    values = {name[2:].replace("-", "_"): value for name, value in zip(options[::2], options[1::2], strict=True)}
    return dlsched.generate(family, **{name: _value(name, value) for name, value in values.items()})


def _value(name: str, text: str) -> Any:
    if name in ("preset", "objective", "weights"):
        return text
    return float(text) if name in REALS else int(text)


def made_by(instance: Any) -> str:
    """The command that draws an instance, or its source on one line."""
    source = instance.source or f"the example of {instance.family}"
    command: str = source.partition("\n")[0]
    return command if command.startswith((DRAWN, KNAPSACK)) else " ".join(source.split())


def measures(instance: Any) -> tuple[str, float | None, dict[str, float]]:
    """Size, load and features.

    load: what jobs ask for over what there is. Of streams and gangs their work over what the cluster can do between the
    first arrival and the last, None if that is one moment; of the others what all jobs could use at once over the capacity.
    tightness: capacity over what jobs need at the least (of streams: could use) at once. spread: the work of the largest job
    over that of the smallest. ties: the share of jobs that equal another one in all but name and arrival.
    """
    size, work, least, most, capacity, span = _MEASURES[instance.family](instance)
    asked, there = (sum(most), capacity) if span is None else (sum(work), capacity * span)
    load = asked / there if there > 0 else None
    jobs = [
        json.dumps({name: value for name, value in job.items() if name not in UNTIMED}, sort_keys=True)
        for job in json.loads(json_text(instance.as_data()))["jobs"]
    ]
    same = Counter(jobs)
    features = {
        "ties": sum(count for count in same.values() if count > 1) / len(jobs),
        "tightness": capacity / sum(least),
    }
    if min(work) > 0:
        features["spread"] = max(work) / min(work)
    return ";".join(f"{name}={number}" for name, number in size.items()), load, features


Measured = tuple[dict[str, int], list[float], list[float], list[float], float, float | None]


def _counts(instance: Any, table: Any, unit: str) -> Measured:
    """One count for each job: work is the cost of its smallest count."""
    first, last = table.starts[:-1], table.starts[1:] - 1
    size = {"jobs": len(instance.jobs), unit: instance.capacity}
    work = [float(table.costs[index]) for index in first]
    return size, work, [*map(int, table.counts[first])], [*map(int, table.counts[last])], instance.capacity, None


def _stream(instance: Any) -> Measured:
    """Work in unit-seconds on the count that needs the fewest."""
    tables = [job.useful_times_s(instance.units) for job in instance.jobs]
    work = [
        job.work * min(count * time for count, time in table.items())
        for job, table in zip(instance.jobs, tables, strict=True)
    ]
    most = [float(max(table)) for table in tables]
    arrivals = [job.arrival_s for job in instance.jobs]
    size = {"jobs": len(instance.jobs), "gpus": instance.units}
    return size, work, most, most, instance.units, max(arrivals) - min(arrivals)


def _matching(instance: Any) -> Measured:
    """Work in seconds on the fastest worker."""
    workers = len(instance.workers)
    size = {"jobs": len(instance.jobs), "workers": workers, "types": len(instance.types)}
    work = [job.iterations * job.batch_samples / max(job.samples_per_s.values()) for job in instance.jobs]
    most = [float(min(job.max_workers or workers, workers)) for job in instance.jobs]
    return size, work, [job.min_workers for job in instance.jobs], most, workers, None


def _gangs(instance: Any) -> Measured:
    """Work in GPU-seconds of computing."""
    work = [job.iterations * sum(stage.replicas * stage.compute_s for stage in job.stages) for job in instance.jobs]
    gpus = [float(job.gpus) for job in instance.jobs]
    releases = [job.release_s for job in instance.jobs]
    size = {"jobs": len(instance.jobs), "gpus": instance.total_gpus, "servers": len(instance.servers)}
    return size, work, gpus, gpus, instance.total_gpus, max(releases) - min(releases)


def _rings(instance: Any) -> Measured:
    """Of the scarcest resource: the one of which all jobs ask for the largest part in all their slots."""

    def of(resource: str) -> tuple[list[float], list[float], float]:
        capacity = sum(server.capacity.get(resource, 0) for server in instance.servers)
        least = [job.demand.get(resource, 0) for job in instance.jobs]
        slots = [job.max_workers * (instance.slots - job.arrival_slot + 1) for job in instance.jobs]
        wanted = [worker * number for worker, number in zip(least, slots, strict=True)]
        most = [
            min(all_slots, job.budget.get(resource, all_slots)) / instance.slots
            for job, all_slots in zip(instance.jobs, wanted, strict=True)
        ]
        return least, most, capacity

    least, most, capacity = max(map(of, instance.resources), key=lambda each: sum(each[1]) / (each[2] or 1))
    work = [job.max_workers * job.rate * (instance.slots - job.arrival_slot + 1) for job in instance.jobs]
    size = {"jobs": len(instance.jobs), "servers": len(instance.servers), "slots": instance.slots}
    return size, work, least, most, capacity, None


_MEASURES: Mapping[str, Any] = {
    "ring_allocation": lambda instance: _counts(instance, gpus_table(instance), "gpus"),
    "async_sgd": lambda instance: _counts(instance, nodes_table(instance), "nodes"),
    "elastic_stream": _stream,
    "matching_placement": _matching,
    "srpt_mapping": _gangs,
    "ring_embedding": _rings,
}


def row_of(path: Path, runs: Iterable[Row], root: Path = ROOT) -> Row:
    """Make the row of an instance from its file, its stored results and its runs; solves nothing and verifies nothing."""
    instance = dlsched.read(path)
    family = FAMILIES[instance.family]
    sense, constant = family.sense_for(instance), family.constant(instance)
    size, load, features = measures(instance)
    key, proof = key_of(path, root), path.with_name(f"{path.stem}.vipr.gz")
    answer = read_claim(best_file(path, "result"))
    best = None if answer is None else answer.objective
    own = [run for run in runs if run["instance"] == key]
    # The strongest bound: what is verified comes first, and stays where another is no stronger than rounding.
    bound, proven_by, proven_in = None, "", ""
    for value, source, where in _bounds(instance, path, proof, sense):
        if bound is None or (sense.better(bound, value) and not meets(value, bound, constant, within=SAME)):
            bound, proven_by, proven_in = value, source, "" if where is None else key_of(where, root)
    general = [run for run in own if (run["method"], run["solver"]) in GENERAL[instance.family]]
    proven = best is not None and bound is not None and meets(best, bound, constant)
    status = "hard" if proven else "open"
    if any(run["status"] == "optimal" and float(run["runtime_s"]) <= EASY_S for run in general):
        status = "easy"
    tried = {
        name: max((float(run["limit_s"]) for run in general if _of(run) == name), default=0.0)
        for name in _models(instance)
    }
    features["tried_s"] = min(tried.values())
    split = int(hashlib.sha256(key.encode()).hexdigest(), 16) % FIFTH == 0
    return {
        "instance": key,
        "family": instance.family,
        "sha256": instance.sha256,
        "size": size,
        "load": "" if load is None else f"{load:.4g}",
        "made_by": made_by(instance),
        "features": ";".join(f"{name}={value:.4g}" for name, value in features.items()),
        "status": status,
        "best": "" if best is None else repr(best),
        "bound": "" if bound is None else repr(bound),
        "gap": "" if best is None or bound is None else f"{gap(best, bound, constant):.3g}",
        "found_by": "" if answer is None or answer.result is None else _method(answer.result),
        "proven_by": proven_by,
        "date": max((run["date"] for run in own), default=""),
        "proof": proven_in,
        "licence": " and ".join(dict.fromkeys([OWN_LICENCE, *LICENCE.findall(instance.source or "")])),
        "split": "test" if split else "train",
    }


def _of(run: Row) -> tuple[str, str]:
    return run["method"], run["solver"]


def _models(instance: Any) -> tuple[tuple[str, str], ...]:
    return GENERAL[instance.family]


def _method(result: Result[Any]) -> str:
    return result.method if result.solver is None else f"{result.method} ({result.solver})"


def _bounds(instance: Any, path: Path, proof: Path, sense: Any) -> Iterable[tuple[float, str, Path | None]]:
    """Bounds with who proved them and in which file that can be verified: proofs first, then certificates, then claims."""
    known = None if instance.known is None else instance.known.bound(sense)
    if proof.exists() and known is not None:
        yield known, "proof in VIPR 1.0", proof
    files = [file for kind in ("result", "bound") if (file := best_file(path, kind)).exists()]
    results = [(file, claim.result) for file in files if (claim := read_claim(file)) is not None]
    for file, result in results:
        if result is not None and result.certificate is not None:
            yield result.certificate.value, f"certificate of {_method(result)}", file
    for _, result in results:
        if result is not None and result.bound is not None:
            yield result.bound, str(result.bound_source), None
    if known is not None:
        yield known, " ".join(instance.known.proof.split()), None
