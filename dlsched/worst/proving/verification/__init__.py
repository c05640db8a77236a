"""The verifier of certificates of suprema: in rationals, and with no line of the code that finds them.

A certificate says that a method's ratio to the optimum has the supremum s on a class of tables of costs c_j(n) >= 0.

*Not more.* Every run ends somewhere: job j holds h_j, and its next step is t_j, which does not fit, or 0: none saves. Let w be
an optimal allocation. Up to the names of the jobs there are finitely many *ends* (h, t, w), and ``proof`` has a tree for each.
A node stands for all runs whose last steps are those on the way to it from the root. It has a child for every step that may
have come before, or multipliers y >= 0 of inequalities (row >= 0) that hold on all these runs, named as in ``docs/formats.md``,
for which  sum_j c_j(h_j) + y rows <= s sum_j c_j(w_j)  holds coefficient by coefficient. Where costs do not rise, w is taken to
be full; where savings per unit do not rise along the counts, steps that save nothing may be added to the end of a run, so that
it ends with no step that would fit.

*Not less.* The instance has the ratio stated, by its own run and optimum. Where that is less than s, ``limit`` and ``inside``
are two tables of the class. The method is run here on limit + e inside, e > 0 infinitely small: numbers a + b e as pairs, the
larger a first. Its ratio is s but for multiples of e; there is no supremum where the allocation ``best`` costs a multiple of e.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.instance import InstanceFile
from dlsched.worst.proving.verification.claims import claim_from
from dlsched.worst.proving.verification.covering import cover
from dlsched.worst.proving.verification.witnesses import approached, instance_of, ratio_of

__all__ = ["Verified", "verify"]


@dataclass(frozen=True)
class Verified:
    """What holds.

    Parameters
    ----------
    supremum
        None: no bound.
    ratio
        Of the instance.
    instance
        It, whole.
    leaves
        Of the proof.
    """

    supremum: Fraction | None
    ratio: Fraction
    instance: InstanceFile
    leaves: int


def verify(data: Mapping[str, object]) -> Verified:
    """Verify a certificate.

    Raises
    ------
    InputError
        It cannot be read.
    ValueError
        It proves something else, or nothing.
    """
    claim = claim_from(data)
    if claim.supremum is None and claim.proof:
        raise ValueError("proof: found one, but no supremum that it could prove")
    leaves = cover(claim) if claim.supremum is not None else 0
    instance = instance_of(claim)
    ratio = ratio_of(claim, instance)
    if ratio != claim.ratio:
        raise ValueError(f"ratio: {claim.ratio} is claimed, the instance has {ratio}")
    if claim.supremum is not None and ratio > claim.supremum:
        raise ValueError(f"supremum: {claim.supremum} is claimed, the instance has {ratio}")
    if ratio != claim.supremum:
        approached(claim)
    elif claim.approach is not None:
        raise ValueError("limit: found one, but the instance attains the supremum")
    return Verified(claim.supremum, ratio, instance, leaves)
