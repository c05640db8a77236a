"""Suprema of policies of elastic_stream by law of speeds, units and jobs: a table, each certificate verified.

python benchmarks/competitive.py [--jobs 2,3] [--units 2,4] [--policies equal,srpt-knee]
"""

import argparse
import json

from dlsched.worst.competitive.proven import POLICIES, prove_policy, speeds_of
from dlsched.worst.competitive.verification import verify

LAWS = ("linear", "power:4/5", "power:1/2", "amdahl:1/10")


def main() -> None:
    """Print a row for each policy, law and number of units."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("jobs", "2,3"),
        ("units", "2,4"),
        ("policies", ",".join(POLICIES)),
        ("laws", ",".join(LAWS)),
    ):
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=default.split(","))
    asked = parser.parse_args()
    print("| policy | speeds | C |", *(f" {jobs} jobs |" for jobs in asked.jobs))
    print("|---|---|---|" + "---|" * len(asked.jobs))
    count = 0
    for method in asked.policies:
        for law in asked.laws:
            for units in map(int, asked.units):
                row = [f"| `{method}` | {law} | {units} |"]
                for jobs in map(int, asked.jobs):
                    proven = prove_policy(method, speeds=speeds_of(law, units), jobs=jobs)
                    verified = verify(json.loads(json.dumps(proven.as_data())))
                    row.append(f" {verified.supremum}{'' if proven.attained else ' (limit)'} |")
                    count += 1
                print(*row, flush=True)
    print(f"\n{count} suprema, each certificate verified")


if __name__ == "__main__":
    main()
