"""Certificates of suprema as data: read strictly, for their verifier."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.errors import InputError
from dlsched.core.messages import shown

End = tuple[tuple[int, int, int], ...]
Table = tuple[tuple[Fraction, ...], ...]
_RATIONAL = re.compile(r"-?[0-9]{1,2000}(/[1-9][0-9]{0,1999})?")
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
    """Statements of a certificate; see ``docs/formats.md``."""

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
    """Read a certificate.

    Raises
    ------
    InputError
        A field is missing, unknown or wrong.
    """
    fields = set(data)
    if not fields >= set(_FIELDS) or fields - {*_FIELDS, "limit"}:
        raise InputError(
            where="certificate", found=f"the fields {sorted(fields)}", allowed=f"{', '.join(_FIELDS)}, maybe limit"
        )
    limit = data.get("limit")
    instance = data["instance"]
    if not isinstance(instance, dict):
        raise InputError(where="instance", found=shown(instance), allowed="an instance")
    jobs, gpus = _whole(data["jobs"], "jobs"), _whole(data["gpus"], "gpus")
    if not 1 <= jobs <= gpus <= _LARGEST:
        raise InputError(where=("jobs", "gpus"), found=f"{jobs} and {gpus}", allowed=f"1 <= jobs <= gpus <= {_LARGEST}")
    if jobs > _MOST_JOBS:
        raise InputError(where="jobs", found=jobs, allowed=f"at most {_MOST_JOBS}")
    allowed = ("ring_allocation", "async_sgd")
    family = _one_of(data["family"], "family", allowed)
    methods = ("doubling", "marginal", "hull") if family == allowed[0] else ("marginal",)
    classes = ("any", "monotone", "sublinear", "convex") if family == allowed[0] else ("convex",)
    return Claim(
        family,
        _one_of(data["method"], "method", methods),
        jobs,
        gpus,
        _one_of(data["tables"], "tables", classes),
        _one_of(data["counts"], "counts", ("powers", "all") if family == allowed[0] else ("all",)),
        None if data["supremum"] is None else _rational(data["supremum"], "supremum"),
        _rational(data["ratio"], "ratio"),
        instance,
        _proof(data["proof"]),
        None if limit is None else _approach(limit),
    )


def _proof(data: object) -> dict[End, Tree]:
    found: dict[End, Tree] = {}
    for index, entry in enumerate(_list(data, "proof")):
        where = f"proof[{index}]"
        if not isinstance(entry, dict) or "end" not in entry:
            raise InputError(where=where, found=shown(entry), allowed="an object with end and a tree")
        triples = [tuple(_whole(x, where) for x in _list(triple, where)) for triple in _list(entry["end"], where)]
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
        return Tree({name: _rational(value, f"{where}.{shown(name)}") for name, value in entries.items()}, {})
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
    limit, inside = (
        tuple(tuple(_rational(cost, name) for cost in _list(row, name)) for row in _list(data[name], name))
        for name in _LIMIT[1:]
    )
    return Approach(tuple(_whole(count, "limit.best") for count in _list(data["best"], "limit.best")), limit, inside)


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InputError(where=where, found=shown(value), allowed="a list")
    return value


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(where=where, found=shown(value), allowed="a whole number")
    return value


def _rational(value: object, where: str) -> Fraction:
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise InputError(where=where, found=shown(value), allowed="a fraction in text, such as 17/10")
    return Fraction(value)


def _one_of(value: object, where: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise InputError(where=where, found=shown(value), allowed=", ".join(allowed))
    return value
