"""What a certificate states, read and checked for form."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dlsched.core.errors import InputError
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy

Item: TypeAlias = Any
"""Something in a file."""
MOST_JOBS, MOST_UNITS, MOST_DIGITS = 6, 64, 400
_FRACTION = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")
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
    """A certificate, read.

    Parameters
    ----------
    policy
        Makes a fresh policy.
    jobs, units, speeds
        Sizes, and tables of speeds on 1, 2, ... units.
    supremum, ratio
        The supremum, and the ratio of the instance.
    instance, schedule, limit, proof
        As in the file.
    """

    policy: Callable[[], Policy]
    jobs: int
    units: int
    speeds: tuple[tuple[Fraction, ...], ...]
    supremum: Fraction
    ratio: Fraction
    instance: Mapping[str, Item]
    schedule: Sequence[Item]
    limit: Mapping[str, Item] | None
    proof: Sequence[Item]


def claim_from(data: Mapping[str, object]) -> Claim:
    """Read a certificate; InputError where it has another form."""
    if data.get("kind") != "competitive" or data.get("family") != "elastic_stream":
        raise InputError(where="kind", found=repr(data.get("kind")), allowed="competitive, of elastic_stream")
    jobs, units = whole(data.get("jobs"), "jobs", MOST_JOBS), whole(data.get("units"), "units", MOST_UNITS)
    speeds = tuple(fractions(row, units, "speeds") for row in listed(data.get("speeds"), None, "speeds"))
    if not speeds or any(row[0] <= 0 or list(row) != sorted(row) for row in speeds):
        raise InputError(where="speeds", found="other speeds", allowed="positive ones that do not fall")
    method, limit = data.get("method"), data.get("limit")
    if not isinstance(method, str):
        raise InputError(where="method", found=repr(method), allowed="the name of a policy")
    return Claim(
        _policy(method),
        jobs,
        units,
        speeds,
        fraction(data.get("supremum"), "supremum"),
        fraction(data.get("ratio"), "ratio"),
        mapped(data.get("instance"), "instance"),
        listed(data.get("schedule"), None, "schedule"),
        None if limit is None else mapped(limit, "limit"),
        listed(data.get("proof"), None, "proof"),
    )


def _policy(method: str) -> Callable[[], Policy]:
    if method in _OTHERS:
        return _OTHERS[method]
    order, _, sizing = method.partition("-")
    if order not in policies.ORDERS or sizing not in SIZINGS:
        raise InputError(where="method", found=repr(method), allowed="a policy that can be proven")
    return lambda: SIZINGS[sizing](order)


def whole(found: object, where: str, most: int, least: int = 1) -> int:
    """Read an integer in a range."""
    if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
        raise InputError(where=where, found=repr(found)[:40], allowed=f"an integer from {least} to {most}")
    return found


def fraction(found: object, where: str) -> Fraction:
    """Read a rational from text."""
    if not isinstance(found, str) or len(found) > MOST_DIGITS or not _FRACTION.fullmatch(found):
        raise InputError(where=where, found=repr(found)[:40], allowed="a fraction in text")
    return Fraction(found)


def listed(found: object, many: int | None, where: str) -> list[Item]:
    """Read a list, of a given length if one is given."""
    if not isinstance(found, list) or (many is not None and len(found) != many):
        raise InputError(where=where, found=repr(found)[:40], allowed="a list" + (f" of {many}" if many else ""))
    return found


def fractions(found: object, many: int, where: str) -> tuple[Fraction, ...]:
    """Read a list of rationals."""
    return tuple(fraction(each, where) for each in listed(found, many, where))


def mapped(found: object, where: str) -> dict[str, Item]:
    """Read an object."""
    if not isinstance(found, dict):
        raise InputError(where=where, found=repr(found)[:40], allowed="an object")
    return found
