"""Known optima that are verified without a solver, by a certificate or by a proof, and what the proofs cost.

Every shipped instance with a known optimum is solved for its certificate and proven by `dlsched.prove`, from the answer of its
exact method, within 60 s, or 10 s where a certificate verifies the optimum. A proof counts if it is closed and both checkers
accept it: viprchk, which others wrote, and `dlsched check`. Bytes are those of the packed file. Seconds are of one run each: of
the proving, the search for a first point included, and of each checker, reading and the making of the model included.
`--ship FOLDER` writes the proofs of at most 100 kB beside the instances there; `--viprchk` is the program, which has to be built
first (docs/proofs.md); `--only` a pattern of instances; `--family` the only family that runs anew, the rows of the others
stand.
"""

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import RESULTS, Page, present

import dlsched
from dlsched import FAMILIES, Limits
from dlsched.core.errors import DlschedError
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Result, Solution
from dlsched.proofs.checker import check_proof

INSTANCES = Path(__file__).parents[1] / "instances"
LARGEST = 100_000
"""Bytes of a proof that is shipped."""
SECONDS, AGAIN = 60.0, 10.0
"""Limits of the proving of one instance: where no certificate verifies the optimum, and where one does."""
QUICK = ("two-jobs", "four-jobs", "worst-fair-share")


@dataclass(frozen=True)
class Verified:
    """What verifies the optimum of an instance, and what that costs; ``left``: why there is no proof."""

    family: str
    name: str
    certificate: bool
    proof: bool = False
    formulation: str = ""
    cases: int = 0
    packed: int = 0
    prove_s: float = 0.0
    viprchk_s: float = 0.0
    check_s: float = 0.0
    left: str = ""


def seconds_of(program: Path, file: Path) -> float | None:
    """Seconds that viprchk takes; None: it refuses the file."""
    begin = time.perf_counter()
    done = subprocess.run([program, file], capture_output=True, check=False)
    return time.perf_counter() - begin if done.returncode == 0 else None


def verified(path: Path, instance: InstanceFile, program: Path, ship: Path | None, folder: Path) -> Verified:
    """Solve, prove and check one instance."""
    family = FAMILIES[path.parent.name]
    result = dlsched.solve(instance, limits=Limits(time_s=SECONDS))
    certificate = result.certificate is not None and result.objective is not None
    certificate = certificate and meets(result.objective, result.certificate.value, result.constant)
    row = Verified(family.name, path.stem, bool(certificate))
    plain, packed = folder / "proof.vipr", folder / "proof.vipr.gz"
    try:
        row = proven(row, instance, result, plain, packed, program)
    except DlschedError as error:
        return Verified(**{**asdict(row), "left": str(error)})
    finally:
        gc.collect()
    if row.proof and row.packed <= LARGEST and ship is not None:
        (ship / family.name / f"{path.stem}.vipr.gz").write_bytes(packed.read_bytes())
    return row


def proven(
    row: Verified, instance: InstanceFile, result: Result[Solution], plain: Path, packed: Path, program: Path
) -> Verified:
    """Prove an optimum and have both checkers judge the file."""
    import gzip

    begin = time.perf_counter()
    limits = Limits(time_s=AGAIN if row.certificate else SECONDS)
    proof = dlsched.prove(instance, packed, start=result, limits=limits)
    prove_s = time.perf_counter() - begin
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    viprchk_s = seconds_of(program, plain)
    begin = time.perf_counter()
    found = check_proof(packed, instance)
    check_s = time.perf_counter() - begin
    if viprchk_s is None:
        raise RuntimeError(f"{row.name}: viprchk refuses the proof, dlsched accepts it: {found}")
    accepted = found.closed or found.infeasible
    said = "" if accepted else f"{proof.status}: {proof.lower} to {proof.upper} after {proof.cases} cases"
    figures = {"cases": found.cases, "packed": packed.stat().st_size, "prove_s": prove_s}
    figures |= {"viprchk_s": viprchk_s, "check_s": check_s}
    return Verified(
        **{**asdict(row), **figures, "formulation": found.formulation, "proof": accepted, "left": said}  # type: ignore[arg-type]
    )


def fill(page: Page) -> None:
    """A table of the families, what is left, and all proofs."""
    program, ship, only, anew = (
        page.options.viprchk,
        page.options.ship,
        str(page.options.only),
        str(page.options.family),
    )
    rows = list[Verified]()
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            if anew not in (family, "*"):
                rows += standing(family)
                continue
            for path in sorted((INSTANCES / family).glob(f"{only}.json")):
                instance = dlsched.read(path)
                if instance.known is None or instance.known.optimum is None or (page.quick and path.stem not in QUICK):
                    continue
                rows.append(verified(path, instance, program, ship, Path(folder)))
                print(rows[-1], file=sys.stderr, flush=True)
    page.raw["rows"] = [asdict(row) for row in rows]
    page.add("## By family")
    page.table(
        "family | known optima | by certificate | by a proof | by either",
        [_line(family, [row for row in rows if row.family == family]) for family in FAMILIES],
    )
    left = [row for row in rows if not (row.certificate or row.proof)]
    page.add("## Not verified without a solver")
    page.table("instance | what was reached", [f"`{row.family}/{row.name}` | {row.left}" for row in left])
    proofs = [row for row in rows if row.proof]
    page.raw["seconds"] = {f"{row.family}/{row.name}": [row.prove_s, row.viprchk_s, row.check_s] for row in proofs}
    page.add("## Proofs")
    if anew == "*":
        page.add(f"Largest memory of the whole run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB.")
    page.table(
        "instance | model | cases | bytes | prove, s | viprchk, s | dlsched check, s",
        [
            f"`{row.family}/{row.name}` | {row.formulation} | {row.cases:,} | {row.packed:,} | {row.prove_s:.2f}"
            f" | {row.viprchk_s:.2f} | {row.check_s:.2f}"
            for row in proofs
        ],
    )
    sums = [sum(getattr(row, name) for row in proofs) for name in ("prove_s", "viprchk_s", "check_s")]
    if proofs:
        page.add(
            f"In all {sums[0]:.0f} s of proving, {sums[1]:.0f} s of viprchk, {sums[2]:.0f} s of dlsched's checker."
        )


def standing(family: str) -> list[Verified]:
    """Rows of a family as the page has them."""
    rows = json.loads((RESULTS / "proofs.json").read_text(encoding="utf-8"))["measured"]["rows"]
    return [Verified(**row) for row in rows if row["family"] == family]


def _line(family: str, rows: list[Verified]) -> str:
    """Write the counts of a family."""
    either = sum(row.certificate or row.proof for row in rows)
    share = f"{100 * either / len(rows):.1f} %" if rows else ""
    counts = sum(row.certificate for row in rows), sum(row.proof for row in rows)
    return f"{family} | {len(rows)} | {counts[0]} | {counts[1]} | {either} ({share})"


if __name__ == "__main__":
    present(
        "Optima verified without a solver",
        __doc__ or "",
        fill,
        how="",
        viprchk=Path("viprchk"),
        ship=None,
        only=Path("*"),
        family=Path("*"),
    )
