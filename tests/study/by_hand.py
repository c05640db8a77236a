"""Rows of studies written by hand."""

from collections.abc import Mapping, Sequence

from dlsched.core.verdict import ReferenceKind
from dlsched.study.rows import Row

HOSTILE = "<script>alert(1)</script>|`_%&$#{}~^\\*[x](y)!\n\x1b[31m\"'--www.a.b https://c 中é"


def answer(
    instance: str,
    method: str,
    ratio: float | None,
    *,
    kind: ReferenceKind = "optimum",
    status: str = "feasible",
    time_s: float = 1.0,
    preset: str = "mixed",
    family: str = "ring_allocation",
) -> Row:
    """Return an answer, against a reference of 100; without a ratio there is no reference and the objective is 100."""
    objective = 100.0 if ratio is None else 100.0 * ratio
    return Row(
        *(f"{instance}-{method}", instance, family, "generate", preset, 10, 64, 1, method, status, objective),
        reference=None if ratio is None else 100.0,
        reference_kind="" if ratio is None else kind,
        ratio=ratio,
        time_s=time_s,
    )


def dead(
    instance: str, method: str, status: str = "timeout", preset: str = "mixed", time_s: float | None = None
) -> Row:
    """Return a cell without an answer."""
    return Row(
        *(f"{instance}-{method}", instance, "ring_allocation", "generate", preset, 10, 64, 1, method, status),
        time_s=time_s,
        message="why",
    )


def rows_of(ratios: Mapping[str, Sequence[float | None]], kind: ReferenceKind = "optimum") -> list[Row]:
    """Return rows by instance, then method; a ratio of None is a timeout, one of ``exact`` a proof."""
    count = len(next(iter(ratios.values())))
    found = []
    for index in range(count):
        for method, of_method in ratios.items():
            ratio = of_method[index]
            status = "optimal" if method == "exact" and kind == "optimum" else "feasible"
            name = f"i{index}"
            found.append(dead(name, method) if ratio is None else answer(name, method, ratio, kind=kind, status=status))
    return found
