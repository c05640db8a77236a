"""Strict reading of certificates of suprema, and what their verifiers confirm; shared by both verifiers, and by no search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dlsched.core.errors import InputError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown

Item: TypeAlias = Any
"""A value in a file."""
# 2000 digits: reading longer integers from text takes long, and Python refuses those of more than 4300
_RATIONAL = re.compile(r"-?[0-9]{1,2000}(/0{0,99}[1-9][0-9]{0,1999})?")


@dataclass(frozen=True)
class Verified:
    """Facts that a verifier has confirmed.

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


def require_ratio(claimed: Fraction, supremum: Fraction | None, ratio: Fraction) -> None:
    """Refuse with a ``ValueError`` a ratio of the instance that is not the one claimed, or is above the supremum."""
    if ratio != claimed:
        raise ValueError(f"ratio: {claimed} is claimed, the instance has {ratio}")
    if supremum is not None and ratio > supremum:
        raise ValueError(f"supremum: {supremum} is claimed, the instance has {ratio}")


def listed(value: object, where: str, count: int | None = None) -> list[Item]:
    """Read a list, of ``count`` entries if that is given."""
    if not isinstance(value, list | tuple) or (count is not None and len(value) != count):
        raise InputError(where=where, found=shown(value), allowed="a list" if count is None else f"a list of {count}")
    return list(value)


def mapped(value: object, where: str) -> dict[str, Item]:
    """Read an object."""
    if not isinstance(value, dict):
        raise InputError(where=where, found=shown(value), allowed="an object")
    return value


def whole(value: object, where: str, most: int | None = None, least: int = 1) -> int:
    """Read an integer, from ``least`` to ``most`` if ``most`` is given."""
    if not isinstance(value, int) or isinstance(value, bool) or (most is not None and not least <= value <= most):
        allowed = "a whole number" if most is None else f"an integer from {least} to {most}"
        raise InputError(where=where, found=shown(value), allowed=allowed)
    return value


def fraction(value: object, where: str) -> Fraction:
    """Read a rational from text."""
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise InputError(where=where, found=shown(value), allowed="a fraction in text, such as 17/10")
    return Fraction(value)


def fractions(value: object, where: str, count: int | None = None) -> tuple[Fraction, ...]:
    """Read a list of rationals."""
    return tuple(fraction(each, where) for each in listed(value, where, count))


def one_of(value: object, where: str, allowed: Sequence[str]) -> str:
    """Read one of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(where=where, found=shown(value), allowed=", ".join(allowed))
    return value
