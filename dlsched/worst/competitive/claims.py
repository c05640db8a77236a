"""Reading of certificates of suprema of policies, for their verifiers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from dlsched.core.errors import InputError
from dlsched.core.messages import shown
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.certificates import Item, fraction, fractions, listed, mapped, whole
from dlsched.worst.competitive.own import OwnPolicy

MOST_JOBS, MOST_UNITS, MOST_WEIGHTS = 6, 64, 64
Class = tuple[tuple[Fraction, ...], Fraction]
"""Speeds on 1, 2, ... units, and the weight."""
_OTHERS: dict[str, Callable[[], Policy]] = {
    "equal": lambda: policies.EqualShare("fifo"),
    "fixed": lambda: policies.Queue("fifo", policies.Fixed()),
    "doubling": policies.Doubling,
    "marginal": policies.Marginal,
    "myopic": policies.Myopic,
    "weighted": policies.Weighted,
}


@dataclass(frozen=True)
class Claim:
    """A certificate, read; ``policy`` makes a fresh policy, and the last four fields are as in the file.

    ``classes``: none where it speaks of all concave tables; ``supremum``: what no ratio exceeds; ``is_supremum``: whether it is
    stated to be one that is reached or approached.
    """

    policy: Callable[[], Policy]
    jobs: int
    units: int
    classes: tuple[Class, ...]
    supremum: Fraction
    is_supremum: bool
    ratio: Fraction
    instance: Mapping[str, Item]
    schedule: Sequence[Item]
    limit: Mapping[str, Item] | None
    proof: Sequence[Item]


def claim_from(data: Mapping[str, object], own: OwnPolicy | None = None) -> Claim:
    """Read a certificate; InputError where it has another form, or is of other code than that of ``own``."""
    if data.get("kind") != "competitive" or data.get("family") != "elastic_stream":
        raise InputError(where="kind", found=repr(data.get("kind")), allowed="competitive, of elastic_stream")
    jobs, units = whole(data.get("jobs"), "jobs", MOST_JOBS), whole(data.get("units"), "units", MOST_UNITS)
    concave = data.get("speeds") == "concave"
    speeds = () if concave else tuple(fractions(row, "speeds", units) for row in listed(data.get("speeds"), "speeds"))
    if not (speeds or concave) or any(row[0] <= 0 or list(row) != sorted(row) for row in speeds):
        raise InputError(where="speeds", found="other speeds", allowed="positive ones that do not fall")
    if concave and (own is not None or "weights" in data or "supremum" in data):
        raise InputError(
            where="speeds", found="concave", allowed="with at_most, without weights, of a policy of dlsched"
        )
    weights = fractions(data.get("weights", ["1"]), "weights")
    if not 1 <= len(weights) <= MOST_WEIGHTS or min(weights) <= 0:
        raise InputError(where="weights", found="other weights", allowed=f"1 to {MOST_WEIGHTS} positive ones")
    method, limit = data.get("method"), data.get("limit")
    if not isinstance(method, str):
        raise InputError(where="method", found=repr(method), allowed="the name of a policy")
    of_code = data.get("code_sha256")
    if of_code != (None if own is None else own.sha256):
        found = "none" if own is None else own.sha256
        raise InputError(where="the code of the policy (sha256)", found=found, allowed=shown(of_code))
    upper = "supremum" if "supremum" in data else "at_most"
    return Claim(
        own or _policy(method),
        jobs,
        units,
        tuple(product(speeds, weights)),
        fraction(data.get(upper), upper),
        upper == "supremum",
        fraction(data.get("ratio"), "ratio"),
        mapped(data.get("instance"), "instance"),
        listed(data.get("schedule"), "schedule"),
        None if limit is None else mapped(limit, "limit"),
        listed(data.get("proof"), "proof"),
    )


def _policy(method: str) -> Callable[[], Policy]:
    if method in _OTHERS:
        return _OTHERS[method]
    order, _, sizing = method.partition("-")
    if order not in policies.ORDERS or sizing not in SIZINGS:
        raise InputError(where="method", found=repr(method), allowed="a policy that can be proven")
    return lambda: SIZINGS[sizing](order)
