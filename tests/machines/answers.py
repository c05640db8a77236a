"""Print what must not depend on the machine, a line each: drawn instances, answers, and models, as digests.

``python tests/machines/answers.py PART [FAMILY ...]`` prints lines ``name digest`` of PART: ``drawn``, ``models``, or the answers
to shipped instances, ``answers`` of heuristics, ``bounds`` and ``exact``. Two machines must print the same.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dlsched
from dlsched.cli.instances import model_text
from dlsched.core.errors import DlschedError
from dlsched.core.instance import InstanceFile

SHIPPED = Path(__file__).parents[2] / "instances"
SEEDS = 30
NODES = 20_000
LARGEST, LARGEST_MODELLED = 2**16, 2**11
"""Bytes of the largest instance file that methods run on, and of which models are built."""
Lines = Iterator[tuple[str, object]]


def drawn(family: str) -> Lines:
    """Instances of every preset."""
    record = dlsched.FAMILIES[family]
    for preset in record.presets:
        for seed in range(SEEDS):
            yield f"{preset}-{seed}", dlsched.generate(family, preset=preset, seed=seed).as_data()


def shipped(family: str, largest: int = LARGEST) -> Iterator[InstanceFile]:
    """Shipped instances that are not too large."""
    for path in sorted((SHIPPED / family).glob("*.json")):
        if path.stat().st_size <= largest:
            yield dlsched.read(path)


def answered(family: str, kinds: tuple[str, ...]) -> Lines:
    """Answers of the methods of some kinds."""
    record = dlsched.FAMILIES[family]
    for instance in shipped(family):
        for method in record.methods.values():
            if method.kind not in kinds:
                continue
            name = f"{instance.name} {method.name}"
            try:
                result = dlsched.solve(instance, method=method.name, limits=dlsched.Limits(nodes=NODES))
            except DlschedError as error:
                yield name, str(error)
                continue
            data = result.as_data()
            yield name, {key: data.get(key) for key in ("status", "objective", "bound", "solution", "certificate")}


def models(family: str) -> Lines:
    """Texts of the models of shipped instances."""
    record = dlsched.FAMILIES[family]
    for instance in shipped(family, LARGEST_MODELLED):
        for name, build in record.formulations.items():
            try:
                built = build(instance)
            except DlschedError as error:
                yield f"{instance.name} {name}", str(error)
                continue
            yield f"{instance.name} {name}", model_text(built.model, "lp", record.unit_for(instance), built.unit)


def main(part: str, families: list[str]) -> None:
    """Print the lines of a part."""
    parts = {
        "drawn": drawn,
        "answers": lambda family: answered(family, ("heuristic",)),
        "bounds": lambda family: answered(family, ("bound",)),
        "exact": lambda family: answered(family, ("exact",)),
        "models": models,
    }
    for family in families or list(dlsched.FAMILIES):
        before = time.perf_counter()
        for name, found in parts[part](family):
            now = time.perf_counter()
            if now - before > 2:
                print(f"{family} {name}: {now - before:.1f} s", file=sys.stderr, flush=True)
            before = now
            text = json.dumps(found, sort_keys=True)
            print(f"{family}/{name}", hashlib.sha256(text.encode()).hexdigest()[:16], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
