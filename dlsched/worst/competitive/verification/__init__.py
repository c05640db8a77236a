"""Verifier of certificates of suprema of policies: in rationals, without a solver, and without code of the search.

*Not more.* ``proof`` has a tree for every choice of tables for the jobs, which are named in order of arrival. The
verifier plays the policy's own code along it, on linear forms of the works w_j and of the lengths d_k between
events. A node lists all events that may come next, or splits on the sign of a form; a decision has to follow
from the splits. Where all jobs have ended, a second tree lists the events of an optimal stream in the same
way. Its leaves have multipliers u >= 0 of the works, g of the arrivals and h >= 0 of the splits, with

    flow(policy) <= flow(policy) + h rows <= u works + g arrivals <= supremum flow(optimum):

the second inequality holds for each d_k, the third for each interval and each allocation in it; what follows
an order that is not whole costs at least its work over the largest speed.

*Not less.* The verifier plays the policy on the instance and measures the schedule: their quotient is the ratio
stated. If that is below the supremum, ``limit`` is an instance and a schedule in numbers a + b e, e > 0
infinitely small, whose quotient is the supremum but for multiples of e.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.instance import InstanceFile
from dlsched.worst.competitive.verification.claims import claim_from
from dlsched.worst.competitive.verification.covering import cover
from dlsched.worst.competitive.verification.witnesses import instance_ratio, limit_ratio

__all__ = ["Verified", "verify"]


@dataclass(frozen=True)
class Verified:
    """Facts that the verifier has confirmed: the supremum, the instance and its ratio, and the number of leaves."""

    supremum: Fraction
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
    leaves = cover(claim)
    instance, ratio = instance_ratio(claim)
    if ratio != claim.ratio:
        raise ValueError(f"ratio: {claim.ratio} is claimed, the instance has {ratio}")
    if ratio > claim.supremum:
        raise ValueError(f"supremum: {claim.supremum} is claimed, the instance has {ratio}")
    if ratio != claim.supremum:
        near = limit_ratio(claim)
        if near != claim.supremum:
            raise ValueError(f"limit: approaches {near}, not the supremum {claim.supremum}")
    elif claim.limit is not None:
        raise ValueError("limit: found one, but the instance attains the supremum")
    return Verified(claim.supremum, ratio, instance, leaves)
