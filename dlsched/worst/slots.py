"""How early a GPU that is cut into slots refuses a job for which there would be room, had those before been placed otherwise.

Exact: all sequences of profiles that fit on an empty GPU are tried, no job ends. ``docs/worst_theory.md`` has the figures.
"""

from functools import cache
from itertools import combinations_with_replacement
from typing import NamedTuple

from dlsched.cluster.slicing import Geometry
from dlsched.core.errors import UsageError

RULES = ("first-fit", "fgd")


class Refusal(NamedTuple):
    """The slots that are used when a job is refused, and the profiles of all jobs in their order, the refused one last."""

    used: int
    profiles: tuple[str, ...]


def earliest_refusal(geometry: Geometry, rule: str) -> Refusal | None:
    """The refusal with the fewest slots used, the first of the shortest sequences; None: the rule refuses nothing that fits.

    ``rule``: of ``RULES``; on one GPU ``best-fit`` and ``dot-product`` do as ``first-fit``. The workload that ``fgd`` knows is a
    set of jobs that fits, with which the sequence begins. UsageError: another rule.

    >>> from dlsched.cluster.slicing import GEOMETRIES
    >>> earliest_refusal(GEOMETRIES["H200-141GB"], "fgd")
    Refusal(used=4, profiles=('2g.35gb', '2g.35gb', '3g.71gb'))
    >>> print(earliest_refusal(GEOMETRIES["A30-24GB"], "first-fit"))
    None
    """
    if rule not in RULES:
        raise UsageError(where="rule", found=repr(rule), allowed=", ".join(RULES))
    masks = {name: geometry.masks(name) for name in sorted(geometry.profiles)}

    @cache
    def fits(jobs: tuple[str, ...], used: int = 0) -> bool:
        return not jobs or any(not mask & used and fits(jobs[1:], used | mask) for mask in masks[jobs[0]])

    @cache
    def refusals(workload: tuple[str, ...], left: tuple[str, ...], used: int) -> list[Refusal]:
        """The earliest refusal, if there is one, where ``left`` of a workload are to come."""
        found = []
        for name in dict.fromkeys(left):
            free = [mask for mask in masks[name] if not mask & used]
            if not free:
                found.append(Refusal(used.bit_count(), (name,)))
                continue
            if rule == "fgd":
                free.sort(key=lambda mask: sum(geometry.unusable(used | mask, [job]) for job in workload))
            index = left.index(name)
            later = refusals(workload, left[:index] + left[index + 1 :], used | free[0])
            found += [Refusal(each.used, (name, *each.profiles)) for each in later]
        return sorted(found, key=_order)[:1]

    sets = (jobs for most in range(1, geometry.slots + 1) for jobs in combinations_with_replacement(masks, most))
    return min((each for jobs in sets if fits(jobs) for each in refusals(jobs, jobs, 0)), key=_order, default=None)


def _order(refusal: Refusal) -> tuple[int, int]:
    return refusal.used, len(refusal.profiles)
