"""Hold ``exact`` of ``srpt_mapping`` against every heuristic within the same limit: it has to be as good as the best.

Contended gangs: five presets, loads 2, 3 and 4, 12, 14, 16 and 20 jobs on 8 or 16 GPUs, the seed counts up; 60 instances, each
with every heuristic and ``exact``. The exit code is 1 if a heuristic's answer was better by more than 1e-9, relative.
"""

import argparse
import itertools
import sys

from against import warm
from table import machine

from dlsched import srpt_mapping
from dlsched.core.limits import Limits

PRESETS = ("mixed", "data-parallel", "published", "communication-heavy", "uneven-servers")
LOADS, SIZES = (2.0, 3.0, 4.0), ((12, 8), (14, 16), (16, 8), (20, 16))
HEURISTICS = [method.name for method in srpt_mapping.FAMILY.methods.values() if method.kind == "heuristic"]


def main() -> int:
    """Run all, print a line for each instance, and what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each run (default: 20)")
    parser.add_argument("--every", type=int, default=1, help="only each N-th instance (default: all 60)")
    options = parser.parse_args()
    warm(srpt_mapping, [("exact", None), ("intervals", None)])
    limits, worse, count = Limits(time_s=options.limit), 0, 0
    cases = list(enumerate(itertools.product(PRESETS, LOADS, SIZES)))[:: options.every]
    for seed, (preset, load, (jobs, gpus)) in cases:
        instance = srpt_mapping.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed, load=load)
        answers = {name: srpt_mapping.solve(instance, method=name, limits=limits) for name in (*HEURISTICS, "exact")}
        flow_s = {name: result.objective - result.constant for name, result in answers.items()}
        best = min(HEURISTICS, key=lambda name: flow_s[name])
        lost = flow_s["exact"] > flow_s[best] * (1 + 1e-9)
        worse, count = worse + lost, count + 1
        print(
            f"{preset} {jobs}x{gpus} seed {seed} load {load:g}: exact {flow_s['exact']:.1f} ({answers['exact'].status}), "
            f"{best} {flow_s[best]:.1f}, ratio {flow_s['exact'] / flow_s[best]:.4f}{' WORSE' if lost else ''}",
            flush=True,
        )
    print(f"exact was worse than a heuristic on {worse} of {count} instances within {options.limit:g} s; {machine()}")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
