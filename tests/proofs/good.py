"""Good proofs to damage: by hand, by the prover, and of small programs at random, solved by trying everything."""

import random
from fractions import Fraction
from itertools import product
from math import inf

from shipped import ROOT

import dlsched
from dlsched.core.instance import InstanceFile
from dlsched.core.status import Sense
from dlsched.families import FAMILIES
from dlsched.ring_allocation import Instance
from dlsched.solvers.linear import LinearModel, from_pulp
from proofs.by_hand import MODEL, written
from proofs.checker.test_rules import TRUE
from proofs.damages import Good
from proofs.writing import model_of, proof_text, rows_of

SHIPPED = (
    *("ring_allocation/eight-nine-sixteen", "ring_allocation/restart-breaks-convexity"),
    *("async_sgd/one-node-each", "async_sgd/worst-marginal", "elastic_stream/worst-exploratory"),
    *("matching_placement/mixed", "matching_placement/worst-fastest-first", "srpt_mapping/broken-ring"),
    *("srpt_mapping/fifo-beats-a-srpt", "srpt_mapping/worst-a-srpt-compact", "ring_embedding/least-first"),
    *("ring_embedding/half-of-the-total", "ring_embedding/budget-binds"),
)
"""Instances whose models have few variables, and an optimum that floats hold."""
PRICED = ("mixed", "one-or-three-max_rho", "worst-fastest-first")
"""Placements that are proven over the configurations that prices and a cutoff leave."""
TOO_FEW = Instance(name="too few", gpus=3, jobs=[{"id": name, "epochs": 1, "epoch_time_s": {"2": 1}} for name in "ab"])


def optimum_of(model: LinearModel) -> tuple[Fraction, tuple[int, ...]] | None:
    """Best objective of a program of binaries and its point, by trying all; None without."""
    sign = -1 if model.sense is Sense.MAXIMIZE else 1
    rows = rows_of(model)

    def holds(point: tuple[int, ...]) -> bool:
        values = [(sense, sum(c * point[j] for j, c in terms.items()) - side) for _, sense, side, terms in rows]
        return all(v >= 0 if sense == "G" else v <= 0 if sense == "L" else v == 0 for sense, v in values)

    points = filter(holds, product((0, 1), repeat=len(model.names)))
    costs = [Fraction(cost) for cost in model.costs.tolist()]
    found = min(((sign * sum(c * x for c, x in zip(costs, p, strict=True)), p) for p in points), default=None)
    return None if found is None else (Fraction(sign * found[0]), found[1])


def by_cases(seed: int) -> Good:
    """A program of three binaries, proven case by case: a split of each variable, a sum of bounds at each end."""
    chance = random.Random(seed)
    while True:
        costs = [chance.randint(-4, 6) for _ in range(3)]
        rows = [(chance.choice([-inf, 1, 2]), {j: chance.randint(-2, 3) or 1 for j in range(3)}, 4) for _ in range(2)]
        model = model_of(costs, rows, maximize=seed % 2 == 1)
        found = optimum_of(model)
        if found is not None:
            break
    best, point = found
    sign = -1 if model.sense is Sense.MAXIMIZE else 1
    sense = "G" if sign > 0 else "L"
    start = len(rows_of(model))
    lines: list[str] = []

    def add(line: str) -> int:
        lines.append(line)
        return start + len(lines) - 1

    def case(fixed: tuple[tuple[int, int], ...]) -> int:
        """Prove the bound where variables are fixed by lines: (line, value) each."""
        j = len(fixed)
        if j < 3:
            low = add(f"a{len(lines)} L 0 1 {j} 1 {{ asm }} -1")
            high = add(f"a{len(lines)} G 1 1 {j} 1 {{ asm }} -1")
            first, second = case((*fixed, (low, 0))), case((*fixed, (high, 1)))
            return add(f"u{len(lines)} {sense} {best} OBJ {{ uns {first} {low} {second} {high} }} -1")
        return add(end(fixed))

    def end(fixed: tuple[tuple[int, int], ...]) -> str:
        """A line for a point: its cost by bounds, or a row that it breaks."""
        at = [value for _, value in fixed]

        def sides(wanted: dict[int, Fraction], sense: str) -> dict[int, Fraction]:
            """Multipliers of bounds and assumptions whose sum has those coefficients and that sense."""
            used: dict[int, Fraction] = {}
            for j, a in wanted.items():
                below = (a > 0) == (sense == "G")  # a lower bound is wanted
                tight = at[j] == (1 if below else 0)
                line = fixed[j][0] if tight else 2 * j + (0 if below else 1)
                used[line] = used.get(line, Fraction(0)) + a
            return used

        if sign * sum(c * x for c, x in zip(costs, at, strict=True)) >= sign * best:
            used = sides({j: Fraction(c) for j, c in enumerate(costs) if c}, sense)
        else:
            broken, other, _, terms = next(
                (i, s, side, terms)
                for i, (_, s, side, terms) in enumerate(rows_of(model))
                if not (lambda v, s=s, side=side: v >= side if s == "G" else v <= side)(
                    sum(c * at[j] for j, c in terms.items())
                )
            )
            # The row less what its left side is at most (at least): absurd. Its negative closes the sum.
            opposite = "L" if other == "G" else "G"
            used = {line: -a for line, a in sides({j: Fraction(c) for j, c in terms.items()}, opposite).items()}
            used[broken] = Fraction(1)
        pairs = " ".join(f"{line} {a}" for line, a in used.items())
        return f"e{len(lines)} {sense} {best} OBJ {{ lin {len(used)} {pairs} }} -1"

    case(())
    solution = " ".join(["best", str(sum(point)), *(f"{j} 1" for j, x in enumerate(point) if x)])
    return Good(f"cases {seed}", model, proof_text(model, f"range {best} {best}", [solution], lines), best)


def by_prover(instance: InstanceFile, formulation: str | None = None) -> Good:
    """What ``dlsched.prove`` writes, without the comments.

    The model's optimum is what its point reaches, within 1e-9 of the instance's known one; None without.
    """
    proof = dlsched.prove(instance, formulation=formulation)
    built = FAMILIES[instance.family].formulations[proof.formulation](instance)
    model, optimum = from_pulp(built.model), None
    assert proof.lines is not None
    if instance.known is not None:
        [claim] = [line for line in proof.lines if line.startswith("RTP range ")]
        optimum = Fraction(claim.split()[3 if "OBJ min" in proof.lines else 2])
        known = (Fraction(instance.known.optimum) - Fraction(built.constant)) / Fraction(built.unit)
        assert abs(optimum - (known - Fraction(model.constant))) <= abs(optimum) / 10**9
    text = "\n".join((*(line for line in proof.lines if not line.startswith("%")), ""))
    return Good(f"of {instance.name}, {proof.formulation}", model, text, optimum)


def good_proofs(count: int = 12) -> list[Good]:
    """All of them."""
    known = {"one line": 6, "two solutions": 6, "a maximum, rounded down": 1, "a split": 2, "no solution exists": None}
    known["rounding up"] = Fraction(3, 2)
    found = [Good("by hand", MODEL, written(head=""), Fraction(6))]
    for name, optimum in known.items():
        model, range_, solutions, derivation, _ = TRUE[name]
        text = proof_text(model, range_, solutions, derivation)
        found.append(Good(name, model, text, None if optimum is None else Fraction(optimum)))
    found += [by_prover(instance) for instance in (*(dlsched.read(ROOT / f"{name}.json") for name in SHIPPED), TOO_FEW)]
    found += [by_prover(dlsched.read(ROOT / "matching_placement" / f"{name}.json"), "priced") for name in PRICED]
    return found + [by_cases(seed) for seed in range(count)]
