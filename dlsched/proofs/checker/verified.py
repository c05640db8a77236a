"""A proof against its instance: the model is built anew, what is proven is said of the instance."""

import gzip
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import BinaryIO, cast

from dlsched.core.errors import InputError, ProofError
from dlsched.core.gap import FEASIBLE, meets
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.core.result import Solution
from dlsched.core.status import Sense
from dlsched.families import family_of
from dlsched.proofs.checker.derivation import check_derivation
from dlsched.proofs.checker.words import Words
from dlsched.solvers.formulation import AnyModel, bound_of_all, rebuilt
from dlsched.solvers.linear import LinearModel, from_pulp


@dataclass(frozen=True, slots=True)
class Verified:
    """What a proof proves of an instance: ``lower <= optimum <= upper``, None: open; ``closed``: they meet within 1e-9.

    ``solution`` is that of the proof, ``objective`` its figure by the family's checker; None without. A solution that is
    better than the point of the model that it was read off is the side that it reaches.
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

    InputError: the file cannot be read, is no proof, is of another instance, or takes more work or memory than the limits.
    ProofError: it states what is not so. UsageError: the instance has no such model.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file, gzip.open(file) if file.peek(2)[:2] == b"\x1f\x8b" else file as stream:
            return check_words(Words(cast(BinaryIO, stream), name), instance, formulation)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None


def check_words(words: Words, instance: InstanceFile, form: str | None, built: AnyModel | None = None) -> Verified:
    """Verify what ``check_proof`` reads, of the formulation ``form``; ``built``: its model if it is at hand."""
    name, family = words.name, family_of(instance)
    said = words.comments.get("formulation", form or "")
    if words.comments.get("sha256") != instance.sha256:
        raise words.wrong("another or no comment sha256", f"{instance.sha256}, of {shown(instance.name)}")
    if said not in family.formulations or form not in (said, None):
        raise words.wrong(f"formulation {shown(said)}", form or ", ".join(family.formulations))
    built = built or rebuilt(family.formulations[said], instance, words.comments, name)
    model = built.model if isinstance(built.model, LinearModel) else from_pulp(built.model)
    proven = check_derivation(words, model)
    unit, constant = Fraction(built.unit), Fraction(built.constant) + Fraction(built.unit) * Fraction(model.constant)
    lower, upper = (None if end is None else unit * end + constant for end in proven[:2][:: 1 if unit > 0 else -1])
    least, infeasible = family.sense_for(instance) is Sense.MINIMIZE, proven.infeasible and built.limit is None
    held, bound = (upper, lower) if least else (lower, upper)
    bound = bound_of_all(bound, built.limit, family.sense_for(instance), infeasible=proven.infeasible)
    if proven.values is None or held is None:
        lower, upper = (bound, held) if least else (held, bound)
        return Verified(said, lower, upper, infeasible, proven.cases, None, None, False)
    try:
        solution, figure = built.decode({each: float(proven.values.get(each, 0)) for each in model.names}), float(held)
    except (ArithmeticError, LookupError, ValueError) as error:
        raise ProofError(f"{name}: its solution is none of the instance ({error!r})") from None
    objective = math.nan if family.check(instance, solution) else family.objective(instance, solution)
    agrees, shift = meets(objective, figure, family.constant(instance), within=FEASIBLE), family.constant(instance)
    held = held if agrees or math.isnan(objective) else Fraction(objective)
    lower, upper = (bound, held) if least else (held, bound)
    near = Fraction(FEASIBLE) * max(abs(side - Fraction(shift)) for side in (lower, upper) if side is not None)
    apart = None if lower is None or upper is None else upper - lower
    better = family.sense_for(instance).better(objective, figure) and (apart is None or apart >= -near)
    if not (agrees or better):
        raise ProofError(f"{name}: its solution breaks a rule of the instance, or its objective is {objective!r}")
    return Verified(said, lower, upper, False, proven.cases, solution, objective, apart is not None and apart <= near)
