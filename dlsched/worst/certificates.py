"""Strict reading of certificates of suprema, and what their verifiers confirm; shared by both verifiers, and by no search."""

import re
from collections.abc import Mapping, Sequence
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
    ratio, instance
        The instance of the certificate, and its ratio.
    leaves
        Number of leaves of the proof.
    interval
        Whether ``supremum`` is only what no ratio exceeds.
    """

    supremum: Fraction | None
    ratio: Fraction
    instance: InstanceFile
    leaves: int
    interval: bool = False


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


End = tuple[tuple[int, int, int], ...]
Table = tuple[tuple[Fraction, ...], ...]
_FIELDS = ("kind", "family", "method", "jobs", "gpus", "tables", "counts", "supremum", "ratio", "instance", "proof")
_LIMIT = ("best", "limit", "inside")
_LARGEST = 4096
"""Most GPUs of a certificate that the verifier accepts."""
_MOST_JOBS = 100
"""Most jobs: ends of runs are listed job by job, by recursion."""


@dataclass(frozen=True)
class Tree:
    """Multipliers by name, or trees by (job, count before the step); never both."""

    multipliers: Mapping[str, Fraction] | None
    before: Mapping[tuple[int, int], "Tree"]


@dataclass(frozen=True)
class Approach:
    """Two tables by job and count, and the allocation that is best on them."""

    best: tuple[int, ...]
    limit: Table
    inside: Table


@dataclass(frozen=True)
class Claim:
    """Statements of a certificate of a method's supremum; see ``docs/formats.md``."""

    family: str
    method: str
    jobs: int
    gpus: int
    tables: str
    counts: str
    supremum: Fraction | None
    ratio: Fraction
    instance: Mapping[str, object]
    proof: Mapping[End, Tree]
    approach: Approach | None


def claim_from(data: Mapping[str, object]) -> Claim:
    """Read a certificate of a method's supremum; InputError: a field is missing, unknown or wrong."""
    fields = set(data)
    if not fields >= set(_FIELDS) or fields - {*_FIELDS, "limit"}:
        raise InputError(
            where="certificate", found=f"the fields {sorted(fields)}", allowed=f"{', '.join(_FIELDS)}, maybe limit"
        )
    limit = data.get("limit")
    jobs, gpus = whole(data["jobs"], "jobs"), whole(data["gpus"], "gpus")
    if not 1 <= jobs <= gpus <= _LARGEST:
        raise InputError(where=("jobs", "gpus"), found=f"{jobs} and {gpus}", allowed=f"1 <= jobs <= gpus <= {_LARGEST}")
    if jobs > _MOST_JOBS:
        raise InputError(where="jobs", found=jobs, allowed=f"at most {_MOST_JOBS}")
    allowed = ("ring_allocation", "async_sgd")
    family = one_of(data["family"], "family", allowed)
    methods = ("doubling", "marginal", "hull") if family == allowed[0] else ("marginal",)
    classes = ("any", "monotone", "sublinear", "convex") if family == allowed[0] else ("convex",)
    return Claim(
        family,
        one_of(data["method"], "method", methods),
        jobs,
        gpus,
        one_of(data["tables"], "tables", classes),
        one_of(data["counts"], "counts", ("powers", "all") if family == allowed[0] else ("all",)),
        None if data["supremum"] is None else fraction(data["supremum"], "supremum"),
        fraction(data["ratio"], "ratio"),
        mapped(data["instance"], "instance"),
        _proof(data["proof"]),
        None if limit is None else _approach(limit),
    )


def _proof(data: object) -> dict[End, Tree]:
    found: dict[End, Tree] = {}
    for index, entry in enumerate(listed(data, "proof")):
        where = f"proof[{index}]"
        if not isinstance(entry, dict) or "end" not in entry:
            raise InputError(where=where, found=shown(entry), allowed="an object with end and a tree")
        triples = [tuple(whole(x, where) for x in listed(triple, where)) for triple in listed(entry["end"], where)]
        if any(len(triple) != 3 for triple in triples):
            raise InputError(where=f"{where}.end", found=shown(entry["end"]), allowed="triples")
        end = tuple((count, target, best) for count, target, best in triples)
        if end in found:
            raise InputError(where=f"{where}.end", found=f"{shown(entry['end'])} twice", allowed="once")
        found[end] = _tree({key: value for key, value in entry.items() if key != "end"}, where)
    return found


def _tree(data: object, where: str) -> Tree:
    if not isinstance(data, dict) or set(data) not in ({"multipliers"}, {"before"}):
        raise InputError(where=where, found=shown(data), allowed="multipliers, or before")
    ((kind, entries),) = data.items()
    if not isinstance(entries, dict):
        raise InputError(where=f"{where}.{kind}", found=shown(entries), allowed="an object")
    if kind == "multipliers":
        return Tree({name: fraction(value, f"{where}.{shown(name)}") for name, value in entries.items()}, {})
    before = {}
    for step, tree in entries.items():
        if not re.fullmatch(r"[0-9]{1,4} [0-9]{1,5}", step):
            raise InputError(where=f"{where}.before", found=shown(step), allowed="a job and a count")
        job, count = map(int, step.split())
        before[job, count] = _tree(tree, f"{where} {step}")
    return Tree(None, before)


def _approach(data: object) -> Approach:
    if not isinstance(data, dict) or set(data) != set(_LIMIT):
        raise InputError(where="limit", found=shown(data), allowed=f"an object with {', '.join(_LIMIT)}")
    limit, inside = (tuple(fractions(row, name) for row in listed(data[name], name)) for name in _LIMIT[1:])
    return Approach(tuple(whole(count, "limit.best") for count in listed(data["best"], "limit.best")), limit, inside)
