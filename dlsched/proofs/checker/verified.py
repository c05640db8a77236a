"""A proof against its instance: the model is built anew, what is proven is said of the instance."""

import gzip
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import BinaryIO, cast

from dlsched.core.errors import InputError, ProofError
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.core.result import Solution
from dlsched.core.status import Sense
from dlsched.core.tolerance import FEASIBLE
from dlsched.families import family_of
from dlsched.proofs.checker.derivation import check_derivation
from dlsched.proofs.checker.words import Words
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import LinearModel, from_pulp


@dataclass(frozen=True, slots=True)
class Verified:
    """What a proof proves of an instance: ``lower <= optimum <= upper``, None: open; ``closed``: they meet within 1e-9.

    ``solution`` is that of the proof, ``objective`` its figure by the family's checker; None without.
    """

    formulation: str
    lower: Fraction | None
    upper: Fraction | None
    infeasible: bool
    cases: int
    solution: Solution | None
    objective: float | None
    closed: bool


def check_proof(path: str | os.PathLike[str], instance: InstanceFile, formulation: str | None = None) -> Verified:
    """Verify a proof file, packed by gzip or not; ``formulation``: by default the one that the file names.

    Raises
    ------
    InputError
        The file cannot be read, is no proof, is of another instance, or takes more work or memory than the limits.
    ProofError
        It states what is not so.
    UsageError
        The instance has no such model.
    """
    name, family = os.fspath(path), family_of(instance)
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else open(path, "rb") as stream:
            words = Words(cast(BinaryIO, stream), name)
            said = words.comments.get("formulation", formulation or "")
            _require(name, "sha256", words.comments.get("sha256", ""), (instance.sha256,))
            _require(name, "formulation", said, [formulation or said])
            _require(name, "formulation", said, list(family.formulations))
            built = cast("Formulation[object, Solution]", family.formulations[said](instance))
            model = built.model if isinstance(built.model, LinearModel) else from_pulp(built.model)
            proven = check_derivation(words, model)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    unit, constant = Fraction(built.unit), Fraction(built.constant) + Fraction(built.unit) * Fraction(model.constant)
    lower, upper = (None if side is None else unit * side + constant for side in (proven.lower, proven.upper))
    if unit < 0:
        lower, upper = upper, lower
    found = Verified(said, lower, upper, proven.infeasible, proven.cases, None, None, False)
    if proven.values is None:
        return found
    sense, shift = family.sense_for(instance), family.constant(instance)
    held, bound = (upper, lower) if sense is Sense.MINIMIZE else (lower, upper)
    assert held is not None
    try:
        solution, figure = built.decode({each: float(proven.values.get(each, 0)) for each in model.names}), float(held)
    except (ArithmeticError, LookupError, ValueError) as error:
        raise ProofError(f"{name}: its solution is none of the instance ({error!r})") from None
    objective = family.objective(instance, solution)
    if family.check(instance, solution) or not meets(objective, figure, shift, within=FEASIBLE):
        raise ProofError(f"{name}: its solution is not feasible for the instance, or has objective {objective!r}")
    size = 0 if bound is None else max(abs(held - Fraction(shift)), abs(bound - Fraction(shift)))
    closed = bound is not None and abs(held - bound) <= Fraction(FEASIBLE) * size
    return replace(found, solution=solution, objective=objective, closed=closed)


def _require(name: str, key: str, said: str, allowed: Collection[str]) -> None:
    if said not in allowed:
        raise InputError(where=f"{name}: comment {key}", found=shown(said), allowed=", ".join(allowed))
