"""How bad doubling, marginal gain and hull steps are at worst, by number of GPUs and class of cost tables.

Every number is the supremum of objective / optimum over all instances of that size: a rational that the verifier has checked
from the certificate as a file holds it, without the code that found it. `*`: the certificate has no instance that attains it,
but tables whose ratios come as close as one likes; `∞`: there is no bound. Doubling with counts that are powers of two is
marginal gain, too. Classes are nested: any costs; monotone: they do not rise with the count; sublinear: and no speed is beyond
linear; convex: and savings per GPU fall. Seconds are of the processor, one proof after the other, for all classes of a row
together; sizes are of the largest certificate.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from measure import Page, present

from dlsched.worst.proving import prove, verify

TABLES = ("any", "monotone", "sublinear", "convex")


@dataclass(frozen=True)
class Case:
    """A method, counts and jobs, for which numbers of GPUs, on which classes of tables."""

    method: str
    counts: str
    jobs: int
    gpus: Sequence[int]
    tables: Sequence[str] = TABLES

    @property
    def title(self) -> str:
        """Head of its table."""
        counts = "all counts" if self.counts == "all" else "powers of two"
        return f"{self.method}, {counts}, {self.jobs} jobs"


FULL = (
    Case("doubling", "powers", 2, range(3, 34)),
    Case("doubling", "powers", 2, [2**k + 1 for k in range(6, 11)], ("convex",)),
    Case("doubling", "powers", 3, range(4, 13)),
    Case("hull", "powers", 2, range(3, 34)),
    Case("hull", "powers", 3, range(4, 13)),
    Case("doubling", "all", 2, [*range(3, 13), 17]),
    Case("doubling", "all", 3, range(4, 9)),
    Case("marginal", "all", 2, range(3, 13)),
    Case("marginal", "all", 3, range(4, 9)),
    Case("hull", "all", 2, range(3, 8)),
    Case("hull", "all", 3, range(4, 7)),
)
QUICK = (
    Case("doubling", "powers", 2, (5, 9, 17)),
    Case("marginal", "all", 2, (4, 5)),
    Case("hull", "powers", 3, (6,)),
)


@dataclass(frozen=True)
class Proof:
    """What came of one proof: the supremum (None: no bound), whether it is attained, programs, leaves, seconds, bytes."""

    supremum: Fraction | None
    attained: bool
    programs: int
    leaves: int
    prove_s: float
    verify_s: float
    size: int

    @property
    def text(self) -> str:
        """The supremum in the table."""
        return "∞" if self.supremum is None else f"{self.supremum}{'' if self.attained else '*'}"


def proof(case: Case, gpus: int, tables: str) -> Proof:
    """Prove, write, read and verify."""
    begin = time.process_time()
    proven = prove("ring_allocation", case.method, jobs=case.jobs, gpus=gpus, tables=tables, counts=case.counts)
    between = time.process_time()
    text = json.dumps(proven.as_data())
    found = verify(json.loads(text))
    end = time.process_time()
    if found.supremum != proven.supremum or found.ratio != proven.ratio:
        raise RuntimeError(
            f"{case.title}, {gpus} GPUs, {tables}: {proven.supremum} is proven, {found.supremum} verified"
        )
    seconds = between - begin, end - between
    return Proof(proven.supremum, proven.attained, proven.programs, found.leaves, *seconds, len(text))


def fill(page: Page) -> None:
    """A table a case."""
    total, seconds = 0, dict[str, list[float]]()
    page.raw["seconds"] = seconds
    for case in QUICK if page.quick else FULL:
        rows, proven, timed = [], list[dict[str, object]](), list[float]()
        for gpus in case.gpus:
            proofs = {tables: proof(case, gpus, tables) for tables in case.tables}
            total += len(proofs)
            timed += [each.prove_s for each in proofs.values()]
            cells = [each.text for each in proofs.values()]
            prove_s, verify_s = (
                sum(getattr(each, name) for each in proofs.values()) for name in ("prove_s", "verify_s")
            )
            size = max(each.size for each in proofs.values()) / 1024
            rows.append(" | ".join([str(gpus), *cells, f"{prove_s:.2f}", f"{verify_s:.2f}", f"{size:.1f}"]))
            proven += [
                {"gpus": gpus, "tables": tables, **vars(each), "supremum": str(each.supremum)}
                for tables, each in proofs.items()
            ]
            print(f"{case.title}, {rows[-1]}", file=sys.stderr, flush=True)
        page.add(f"## {case.title[0].upper()}{case.title[1:]}" + ("" if len(case.tables) > 1 else ", larger"))
        page.table(" | ".join(["GPUs", *case.tables, "prove, s", "verify, s", "KiB"]), rows)
        name = f"{case.title}, {case.gpus[0]} .. {case.gpus[-1]} GPUs"
        page.raw[name] = proven
        seconds[name] = timed
    page.add(f"{total} certificates, all verified.")


if __name__ == "__main__":
    present("How bad greedy allocation can be", __doc__ or "", fill)
