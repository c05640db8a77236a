"""Free parts of GPUs that jobs cannot use, and by how much placing a job raises them: FGD of Weng et al., USENIX ATC 2023.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent". A job goes
where the expected fragment grows least. In their symbols, for a node n and the classes m of a workload M:

=====================  ===============================================================================================
here                   there
=====================  ===============================================================================================
``fragment``           F_n(m), what class m cannot use of the GPUs of node n
``expected``           F_n(M), its mean over a job drawn from M
``growth``             F_{n-}(M) - F_n(M), of which FGD takes the least
=====================  ===============================================================================================

A node is the free thousandths of each of its GPUs. The definitions are those of ``pkg/utils/frag.go`` in the authors'
simulator (hkust-adsl/kubernetes-scheduler-simulator), for GPUs alone. Left out are CPUs and models of GPUs: where a class
lacks CPUs or accepts no such model, all that is free on the node is a fragment there. Left out are also classes without
GPUs, which can use none: they add the same to every placement of a job. The simulator rounds the growth to one of 101
scores (``fgd_score.go``); here it is exact, and equal growths are ties.

The three functions ``..._slots`` are the same for a GPU that is cut into MIG instances (``slicing``). They are ours, not the
paper's, which knows no MIG.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.cluster.slicing import Geometry


class JobClass(NamedTuple):
    """Jobs of one kind: the GPUs that one needs (>= 1), the thousandths of each (1 to 1000), and how popular they are.

    Parts of several GPUs are possible, too. Popularities (>= 0) are weights.
    """

    gpus: int
    thousandths: int
    popularity: int | Fraction


def fragment(free: Sequence[int], kind: JobClass) -> int:
    """Thousandths of the node that the class cannot use: all, if no job of it fits; else those on GPUs with too few.

    >>> fragment((1000, 400, 300), JobClass(1, 400, 1)), fragment((1000, 400, 300), JobClass(2, 1000, 1))
    (300, 1700)
    """
    short = [part for part in free if part < kind.thousandths]
    return sum(short if len(free) - len(short) >= kind.gpus else free)


def expected(free: Sequence[int], kinds: Sequence[JobClass]) -> Fraction:
    """Mean of the fragments, weighted by popularity; ZeroDivisionError: no class is popular."""
    weighted = sum(kind.popularity * fragment(free, kind) for kind in kinds)
    return Fraction(weighted) / sum(kind.popularity for kind in kinds)


def growth(free: Sequence[int], gpus: Sequence[int], taken: int, kinds: Sequence[JobClass]) -> Fraction:
    """By how much the expected fragment grows if a job takes ``taken`` thousandths of each GPU of those positions.

    It is negative where the job takes what others could not use. ValueError: one has fewer free.

    >>> half = [JobClass(1, 500, 1)]
    >>> growth((1000, 600), [0], 400, half), growth((1000, 600), [1], 400, half)
    (Fraction(0, 1), Fraction(200, 1))
    """
    left = list(free)
    for gpu in gpus:
        left[gpu] -= taken
        if left[gpu] < 0:
            raise ValueError(
                f"taken: found {taken} thousandths of GPU {gpu}, allowed: at most the {free[gpu]} that are free"
            )
    return expected(left, kinds) - expected(free, kinds)


def fragment_slots(geometry: Geometry, used: int, profile: str) -> int:
    """Free slots that no instance of the profile can take beside the mask ``used``; KeyError: no such profile.

    >>> from dlsched.cluster.slicing import GEOMETRIES
    >>> [fragment_slots(GEOMETRIES["A100-40GB"], 0b1, profile) for profile in ("1g.5gb", "3g.20gb", "4g.20gb")]
    [1, 3, 7]
    """
    usable = 0
    for mask in geometry.masks(profile):
        if not mask & used:
            usable |= mask
    return geometry.slots - (used | usable).bit_count()


def expected_slots(geometry: Geometry, used: int, popularity: Mapping[str, int | Fraction]) -> Fraction:
    """Mean of the fragments in slots over profiles, weighted by popularity; ZeroDivisionError: no profile is popular."""
    weighted = sum(weight * fragment_slots(geometry, used, profile) for profile, weight in popularity.items())
    return Fraction(weighted) / sum(popularity.values())


def growth_slots(geometry: Geometry, used: int, mask: int, popularity: Mapping[str, int | Fraction]) -> Fraction:
    """By how much the expected fragment grows if an instance takes the slots ``mask``; ValueError: one is used."""
    if mask & used:
        raise ValueError(f"mask: found slots {mask & used:#b} that are used, allowed: free ones")
    return expected_slots(geometry, used | mask, popularity) - expected_slots(geometry, used, popularity)
