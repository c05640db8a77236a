"""The fifty optima of the task Prism: their certificates, the verifier alone, forgeries, and a dynamic program over sets."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import verify

FOLDER = Path(verify.__file__).parent
DATA = verify.load(FOLDER / "prism" / "instances.json")
INSTANCES, MEMORY = DATA["instances"], DATA["memory_gb"]
CERTIFICATES = verify.load(FOLDER / "certificates.json")["certificates"]
OPTIMA = [Fraction(text) for text in verify.load(FOLDER / "optima.json")["optimum"]]
Entry = dict[str, Any]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the verifier where nothing but the standard library can be imported."""
    command = [sys.executable, "-I", "-S", str(FOLDER / "verify.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_verifier_alone_proves_all_fifty() -> None:
    """Exit code 0 without dlsched, NumPy or a solver, and the score that no valid placements of all 50 exceed."""
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("50 of 50 optima proven, score 26.255972")


def test_the_optima_are_those_of_a_dynamic_program() -> None:
    """Another method on all instances of ten models: the best partition of every set into k parts."""
    small = [number for number, each in enumerate(INSTANCES) if len(each["models"]) == 10]
    assert len(small) >= 10
    for number in small:
        assert by_sets(INSTANCES[number]["models"], INSTANCES[number]["gpus"]) == OPTIMA[number]


def by_sets(models: list[list[int]], gpus: int) -> Fraction:
    """Least largest pressure by dynamic programming over sets, as bits."""
    pressures = []
    for bits in range(1 << len(models)):
        chosen = [model for index, model in enumerate(models) if bits >> index & 1]
        free = MEMORY - sum(size for size, _, _ in chosen)
        load = sum((Fraction(requests, slo) for _, requests, slo in chosen), Fraction(0))
        pressures.append(load / free if free > 0 else Fraction(10**9))
    values = sorted(set(pressures))
    rank = {value: place for place, value in enumerate(values)}
    alone = [rank[each] for each in pressures]
    best = alone
    for _ in range(gpus - 1):
        more = best[:]
        for bits in range(1 << len(models)):
            # the part with the lowest model of the set is chosen next
            rest = bits & (bits - 1)
            part = rest
            while True:
                chosen = part | (bits ^ rest)
                more[bits] = min(more[bits], max(alone[chosen], best[bits ^ chosen]))
                if part == 0:
                    break
                part = (part - 1) & rest
        best = more
    return values[best[-1]]


def test_the_baseline_has_the_score_of_the_readme() -> None:
    """The README of the task gives the baseline 21.8916."""
    from prism import FAMILY
    from prism.checker import largest_pressure

    pressures = []
    for number in range(len(INSTANCES)):
        instance = FAMILY.generate(preset="task", seed=number)
        pressures.append(largest_pressure(instance, FAMILY.solve(instance, method="baseline").solution))
    assert f"{float(verify.score(pressures, len(INSTANCES))):.4f}" == "21.8916"


def test_both_methods_prove_an_optimum_again() -> None:
    """One instance of five GPUs, by the search over sets and by CP-SAT."""
    import prove

    assert prove.proven(22)["optimum"] == str(OPTIMA[22])


def moved(entry: Entry, instance: Entry, generator: random.Random) -> Entry | None:
    """Another placement, with its own pressure as the optimum: true of the placement, and no optimum."""
    placement = entry["placement"][:]
    placement[generator.randrange(len(placement))] = generator.randrange(instance["gpus"])
    try:
        value = verify.largest_pressure(instance, MEMORY, placement)
    except verify.Refused:
        return None
    return None if str(value) == entry["optimum"] else {**entry, "placement": placement, "optimum": str(value)}


def with_value(field: str, value: Callable[[Any], Any]) -> Callable[[Entry, Entry, random.Random], Entry]:
    """A forgery of one field."""
    return lambda entry, instance, generator: {**entry, field: value(entry[field])}


def strange(field: str, value: object) -> Callable[[Entry, Entry, random.Random], Entry]:
    """A forgery that puts a value somewhere in a list."""

    def forge(entry: Entry, instance: Entry, generator: random.Random) -> Entry:
        values = entry[field][:]
        values[generator.randrange(len(values))] = value
        return {**entry, field: values}

    return forge


def alone(entry: Entry, instance: Entry, generator: random.Random) -> Entry | None:
    """All weight on one model whose pressure alone is below the optimum."""
    index = generator.randrange(len(instance["models"]))
    size, requests, slo = instance["models"][index]
    if Fraction(requests, slo) / (MEMORY - size) >= Fraction(entry["optimum"]):
        return None
    return {**entry, "weights": [int(each == index) for each in range(len(instance["models"]))]}


def foreign(entry: Entry, instance: Entry, generator: random.Random) -> Entry | None:
    """The certificate of another instance."""
    other = generator.choice(CERTIFICATES)
    return None if other["optimum"] == entry["optimum"] else other


FORGERIES: tuple[Callable[[Entry, Entry, random.Random], Entry | None], ...] = (
    moved,
    alone,
    foreign,
    with_value("optimum", lambda text: str(Fraction(text) * Fraction(999, 1000))),
    with_value("optimum", lambda text: str(Fraction(text) * Fraction(1001, 1000))),
    with_value("optimum", lambda text: float(Fraction(text))),
    with_value("placement", lambda gpus: gpus[:-1]),
    with_value("placement", lambda gpus: [*gpus, 0]),
    with_value("placement", lambda gpus: [0] * len(gpus)),
    with_value("placement", lambda gpus: list(range(len(gpus)))),
    with_value("weights", lambda weights: [0] * len(weights)),
    with_value("weights", lambda weights: weights[1:]),
    with_value("weights", lambda weights: dict(enumerate(weights))),
    with_value("weights", lambda weights: [*weights[:-1], -1]),
    strange("placement", 10**9),
    strange("placement", -1),
    strange("placement", True),
    strange("placement", 1.0),
    strange("weights", 0.5),
    strange("weights", None),
    lambda entry, instance, generator: {"optimum": entry["optimum"], "placement": entry["placement"]},
    lambda entry, instance, generator: {**entry, "trusted": True},
)


def forged() -> Iterator[tuple[Entry, Entry]]:
    """Certificates that prove nothing, each with its instance."""
    generator = random.Random(0)
    while True:
        for forge in FORGERIES:
            number = generator.randrange(len(INSTANCES))
            entry = forge(CERTIFICATES[number], INSTANCES[number], generator)
            if entry is not None:
                yield INSTANCES[number], entry


def test_forged_certificates_are_refused() -> None:
    """Five hundred of 22 kinds: values, placements, weights, types, shapes."""
    for _, (instance, entry) in zip(range(500), forged(), strict=False):
        with pytest.raises(verify.Refused):
            verify.require_optimal(instance, MEMORY, entry)


@pytest.mark.parametrize("file", ["optima.json", "certificates.json"])
def test_a_forged_file_ends_with_an_error(file: str, tmp_path: Path) -> None:
    """The program says which instance is refused."""
    for name in ("verify.py", "optima.json", "certificates.json", "prism/instances.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(FOLDER / name, tmp_path / name)
    text = (tmp_path / file).read_text()
    assert "43/1008" in text
    (tmp_path / file).write_text(text.replace("43/1008", "42/1008"))
    done = subprocess.run([sys.executable, str(tmp_path / "verify.py")], capture_output=True, text=True)
    assert done.returncode == 1 and "instance 0: refused" in done.stdout and "49 of 50" in done.stdout


def test_placements_are_judged(tmp_path: Path) -> None:
    """Valid ones get the score of the task; one on a GPU that does not exist is refused."""
    placements = [entry["placement"] for entry in CERTIFICATES]
    (tmp_path / "placements.json").write_text(json.dumps(placements))
    done = run(tmp_path / "placements.json")
    assert done.returncode == 0 and "50 of 50 valid placements" in done.stdout and "score 26.255972" in done.stdout
    placements[3] = [INSTANCES[3]["gpus"], *placements[3][1:]]
    (tmp_path / "placements.json").write_text(json.dumps(placements))
    done = run(tmp_path / "placements.json")
    assert done.returncode == 1 and "instance 3: refused, placement: there are 7 GPUs" in done.stdout
