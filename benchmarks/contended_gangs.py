"""How far ``exact`` of ``srpt_mapping`` comes where gangs want two to four times the GPUs there are, beside ``intervals`` alone.

Thirty instances of ``dlsched generate srpt_mapping --preset P --jobs J --gpus G --load L --seed 1``, see ``CASES``. A row has the
answers, gaps and seconds of both methods within a limit on time; gaps leave out the sum of releases, as all of dlsched do.
"""

import argparse
from itertools import product

from table import machine, markdown

from dlsched import srpt_mapping
from dlsched.core.limits import Limits

PRESETS = ("mixed", "data-parallel", "published", "recurring", "uneven-servers")
CASES = list(product(PRESETS, ((14, 8), (17, 12), (20, 16)), (2.0, 4.0)))
"""Preset, jobs and GPUs, load."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--methods", default="exact,intervals")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th instance only")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    rows, gaps = [], {method: [] for method in methods}
    for preset, (jobs, gpus), load in CASES[:: arguments.every]:
        instance = srpt_mapping.generate(preset=preset, jobs=jobs, gpus=gpus, load=load, seed=1)
        row = [f"{preset}, {jobs} jobs, {gpus} GPUs, load {load:g}"]
        for method in methods:
            result = srpt_mapping.solve(instance, method=method, limits=Limits(time_s=arguments.time_limit))
            gap = 1.0 if result.gap is None else result.gap
            gaps[method].append((gap, result.status.value == "optimal"))
            row += [f"{result.objective:.8g}", f"{100 * gap:.2f}", f"{result.runtime_s:.1f}", result.status.value]
        print("|", " | ".join(row), "|", flush=True)
        rows.append(row)
    columns = [f"{method}: {name}" for method in methods for name in ("objective, s", "gap, %", "s", "status")]
    print(markdown(["instance", *columns], rows))
    for method, own in gaps.items():
        shares = [100 * gap for gap, _ in own]
        proven = sum(each for _, each in own)
        print(
            f"{method}: mean gap {sum(shares) / len(shares):.2f} %, largest {max(shares):.2f} %, proven {proven} of {len(own)}"
        )
    print(machine())


if __name__ == "__main__":
    main()
