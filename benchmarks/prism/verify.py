"""Verify the optima of the fifty instances of the task Prism: integers and fractions of the standard library, no solver.

    python benchmarks/prism/verify.py                  # all certificates; exit code 0 if they prove optima.json
    python benchmarks/prism/verify.py PLACEMENTS.json  # judge placements: a list of 50 lists, the GPU of each model from 0

A certificate has a placement and weights of the models. The placement attains the optimum. With weights of sum Y some one of G
GPUs has models of weight Y / G or more, wherever they are placed; and every set of models of that weight has at least the
optimum's pressure, or leaves no memory free. All sets of less pressure are enumerated here: none may have that weight.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).parent


class Refused(Exception):  # noqa: N818  a verdict, not an error of the program
    """Why a placement or a certificate proves nothing."""


def load(path):
    """Read JSON; a field that stands twice is refused."""

    def unique(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refused("a field stands twice")
        return dict(pairs)

    return json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=unique)


def whole_numbers(values, count, what):
    """Return a list of that many integers >= 0, or refuse."""
    if not isinstance(values, list) or len(values) != count:
        raise Refused(f"{what}: not a list of {count}")
    if any(type(value) is not int or value < 0 for value in values):
        raise Refused(f"{what}: not integers from 0 on")
    return values


def largest_pressure(instance, memory, placement):
    """Return the largest pressure of a placement, exactly; refused unless every model is on a GPU that exists and has room."""
    gpus, models = instance["gpus"], instance["models"]
    if any(gpu >= gpus for gpu in whole_numbers(placement, len(models), "placement")):
        raise Refused(f"placement: there are {gpus} GPUs")
    loads, free = [Fraction(0)] * gpus, [memory] * gpus
    for gpu, (size, requests, slo) in zip(placement, models, strict=True):
        loads[gpu] += Fraction(requests, slo)
        free[gpu] -= size
    if min(free) <= 0:
        raise Refused("placement: a GPU has no memory free")
    return max(load / room for load, room in zip(loads, free, strict=True))


def require_optimal(instance, memory, certificate):
    """Return the proven optimum of an instance; refused unless the certificate proves it."""
    if not isinstance(certificate, dict) or set(certificate) != {"optimum", "placement", "weights"}:
        raise Refused("not an object of optimum, placement and weights")
    value = largest_pressure(instance, memory, certificate["placement"])
    if certificate["optimum"] != str(value):
        raise Refused(f"optimum: the placement has {value}")
    models, gpus = instance["models"], instance["gpus"]
    weights = whole_numbers(certificate["weights"], len(models), "weights")
    total = sum(weights)
    if total == 0:
        raise Refused("weights: their sum is 0")
    # Sets grow by later models only, so each is met once; those of no less pressure than the value only grow worse.
    stack = [(0, 0, Fraction(0), memory)]
    while stack:
        start, weight, demand, free = stack.pop()
        if gpus * weight >= total:
            raise Refused("weights: a set of less pressure has the weight of a GPU")
        for index in range(start, len(models)):
            size, requests, slo = models[index]
            more, room = demand + Fraction(requests, slo), free - size
            if room > 0 and more < value * room:
                stack.append((index + 1, weight + weights[index], more, room))
    return value


def score(pressures, number):
    """Return the task's score: 1 over the mean of the largest pressures, plus the share of instances that are placed."""
    return len(pressures) / sum(pressures) + Fraction(len(pressures), number) if pressures else Fraction(0)


def main(arguments):
    """Verify or judge; return the exit code."""
    data = load(HERE / "prism" / "instances.json")
    memory, instances = data["memory_gb"], data["instances"]
    optima = load(HERE / "optima.json")["optimum"]
    judged = load(arguments[0]) if arguments else load(HERE / "certificates.json")["certificates"]
    if not isinstance(judged, list) or len(judged) != len(instances):
        raise Refused(f"not a list of {len(instances)}")
    pressures, refused = [], 0
    for number, (instance, entry) in enumerate(zip(instances, judged, strict=True)):
        try:
            value = (largest_pressure if arguments else require_optimal)(instance, memory, entry)
            if not arguments and str(value) != optima[number]:
                raise Refused(f"optima.json has {optima[number]}")
            pressures.append(value)
        except Refused as reason:
            refused += 1
            print(f"instance {number}: refused, {reason}")
    what = "valid placements" if arguments else "optima proven"
    print(f"{len(pressures)} of {len(instances)} {what}, score {float(score(pressures, len(instances))):.6f}")
    return 1 if refused else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Refused, json.JSONDecodeError) as reason:
        sys.exit(f"refused: {reason}")
