"""Scores of heuristics in the task Prism beside the highest score of valid placements, for docs/prism.md.

With ``--gaps``: ratios to the optimum, instance by instance.
"""

import argparse
import sys
from fractions import Fraction
from pathlib import Path

from prism import FAMILY
from prism.checker import largest_pressure
from verify import load, score

HERE = Path(__file__).parent
CLAIMS = ("26.37", "30.52", "26.27")
"""Of the task's README, August 2026."""


def ratios(method: str, optima: list[Fraction]) -> list[Fraction | None]:
    """Largest pressure of a heuristic over the optimum on each instance; None: it placed nothing."""
    found: list[Fraction | None] = []
    for number, optimum in enumerate(optima):
        instance = FAMILY.generate(preset="task", seed=number)
        solution = FAMILY.solve(instance, method=method).solution
        found.append(None if solution is None else largest_pressure(instance, solution) / optimum)
    return found


def main() -> int:
    """Print a table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gaps", action="store_true", help="print ratios instance by instance")
    by_instance = parser.parse_args().gaps
    optima = [Fraction(text) for text in load(HERE / "optima.json")["optimum"]]
    methods = [name for name, method in FAMILY.methods.items() if method.kind == "heuristic"]
    of = {method: ratios(method, optima) for method in methods}
    if by_instance:
        print("| instance | optimum |", *(f" `{method}` |" for method in methods), sep="")
        print("|---|---|", *("---|" for _ in methods), sep="")
        for number, optimum in enumerate(optima):
            texts = ("-" if of[each][number] is None else f"{float(of[each][number]):.3f}" for each in methods)
            print(f"| {number} | {optimum} |", *(f" {text} |" for text in texts), sep="")
        return 0
    highest = score(optima, len(optima))
    print("| method | score | of the highest | mean ratio | worst ratio | optimal | placed |")
    print("|---|---|---|---|---|---|---|")
    for name, each in (*of.items(), ("optimum", [Fraction(1)] * len(optima))):
        placed = [(ratio, optimum) for ratio, optimum in zip(each, optima, strict=True) if ratio is not None]
        reached = score([ratio * optimum for ratio, optimum in placed], len(optima))
        mean = float(sum(ratio for ratio, _ in placed) / len(placed))
        worst, best = max(ratio for ratio, _ in placed), sum(ratio == 1 for ratio, _ in placed)
        texts = f"{float(reached):.4f} | {100 * float(reached / highest):.1f} %", f"{mean:.4f} | {float(worst):.3f}"
        print(f"| `{name}` | {' | '.join(texts)} | {best} | {len(placed)} |")
    print()
    for claim in CLAIMS:
        words = "not attainable by valid placements of all 50" if Fraction(claim) > highest else "attainable"
        print(f"claimed score {claim}, highest score {float(highest):.4f}: {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
