"""Prove the optima of the fifty instances of the task Prism by two methods that share nothing, and write them down.

    python benchmarks/prism/prove.py           # the search over sets and CP-SAT; writes optima.json and certificates.json
    python benchmarks/prism/prove.py --check   # prove all again, compare with the files, write nothing

`verify.py` verifies these files without a solver.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from prism import FAMILY
from prism.checker import largest_pressure
from prism.generator import task

from dlsched.certificates import DualsCertificate
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus

HERE = Path(__file__).parent


def proven(number: int) -> dict[str, object]:
    """Return the certificate of an instance, once both methods have proven the same optimum."""
    instance = FAMILY.generate(preset="task", seed=number)
    results = [FAMILY.solve(instance, method=method, limits=Limits(threads=1)) for method in ("exact", "cpsat")]
    for result in results:
        if result.status is not TerminationStatus.OPTIMAL:
            sys.exit(f"instance {number}: {result.method} ended with {result.status} {result.message}")
    values = [largest_pressure(instance, result.solution) for result in results]
    if values[0] != values[1]:
        sys.exit(f"instance {number}: the methods disagree, {values[0]} and {values[1]}")
    found, certificate = results[0], results[0].certificate
    assert isinstance(certificate, DualsCertificate)
    if FAMILY.verify(instance, certificate) != values[0]:
        sys.exit(f"instance {number}: weights alone do not prove the optimum")
    weights = [int(certificate.rows[f"cover_{model.id}"]) for model in instance.jobs]
    placement = [found.solution.gpus[model.id] for model in instance.jobs]
    print(f"{number:2} {values[0]!s:>8}", *(f"{each.method} {each.runtime_s:.2f} s" for each in results), flush=True)
    return {"optimum": str(values[0]), "placement": placement, "weights": weights}


def main() -> int:
    """Prove all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare the optima with optima.json")
    only_check = parser.parse_args().check
    began = time.perf_counter()
    certificates = [proven(number) for number in range(len(task()["instances"]))]
    print(f"{len(certificates)} optima proven twice in {time.perf_counter() - began:.0f} s")
    optima = {"optimum": [each["optimum"] for each in certificates]}
    if only_check:
        written = json.loads((HERE / "optima.json").read_text(encoding="utf-8"))
        return 0 if written == optima else 1
    (HERE / "optima.json").write_text(json.dumps(optima) + "\n", encoding="utf-8")
    lines = ",\n    ".join(json.dumps(each) for each in certificates)
    (HERE / "certificates.json").write_text(f'{{\n  "certificates": [\n    {lines}\n  ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
