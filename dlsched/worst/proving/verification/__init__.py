"""Verifier of certificates of suprema: computes in rationals, and shares no code with the search that finds them.

A certificate says that a method's ratio to the optimum has the supremum s on a class of tables of costs c_j(n) >= 0.

*Not more.* At the end of every run job j holds h_j, and t_j is the count of its next step, which does not
fit, or 0 if no step saves. Let w be an optimal allocation. Up to the names of the jobs there are finitely
many *ends* (h, t, w), and ``proof`` has a tree for each. A node stands for all runs whose last steps are
those on the path from the root to it. It has a child for every step that may have come before, or
multipliers y >= 0 of inequalities (row >= 0) that hold on all these runs, named as in ``docs/formats.md``,
for which  sum_j c_j(h_j) + y rows <= s sum_j c_j(w_j)  holds coefficient by coefficient. If costs do not
rise, the verifier assumes that w is full; if savings per unit do not rise along the counts, it may extend a
run by steps that save nothing, until no further step fits.

*Not less.* The verifier runs the method on the instance and computes its optimum: the ratio is the one
stated. If that is below s, ``limit`` and ``inside`` are two tables of the class. The verifier runs the
method on limit + e inside, with an infinitely small e > 0: it holds numbers a + b e as pairs, and compares a
first. The ratio is s up to multiples of e; if the allocation ``best`` costs a multiple of e, there is no
supremum.
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
    """Facts that the verifier has confirmed.

    Parameters
    ----------
    supremum
        The supremum; None: the ratio is unbounded.
    ratio
        Ratio of ``instance``.
    instance
        The instance of the certificate.
    leaves
        Number of leaves of the proof.
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
        The certificate cannot be read.
    ValueError
        The certificate does not prove what it states.
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
