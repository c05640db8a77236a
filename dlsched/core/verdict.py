"""The quality of an answer: the reference of its instance, and ratio and gap of the answer to it, by ``core.gap``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dlsched.core.gap import beats, gap, meets, ratio
from dlsched.core.status import Sense, TerminationStatus

ReferenceKind = Literal["optimum", "bound", "answer", ""]


class Answered(Protocol):
    """The answer of a method: a result, or a row of a table."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def objective(self) -> float | None:
        """Checked objective of its answer; None without."""

    @property
    def bound(self) -> float | None:
        """Bound that it proved; None without."""


@dataclass(frozen=True, slots=True)
class Known:
    """Facts of an instance before a method runs: its objectives' constant, proven values from its file."""

    constant: float = 0.0
    optimum: float | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """The value against which the answers to an instance are measured.

    ``kind``: a proven ``optimum``; a ``bound``, so that the true ratio may be smaller; or the ``answer`` of a method.
    ``proofs``: values that no answer beats, whatever the reference is. ``answered``: whether a solution is known to exist.
    """

    value: float
    kind: ReferenceKind
    sense: Sense = Sense.MINIMIZE
    constant: float = 0.0
    proofs: tuple[float, ...] = ()
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer against a reference, of which ``reference`` and ``kind`` are value and kind.

    ``ratio``, ``gap``: as in ``core.gap``; 1 and 0 if the answer is better by rounding only. ``met``: whether it is as good, up
    to rounding. ``unbounded``: whether there is no ratio because only the denominator is 0. ``contradicts``: the proven value
    that the answer beats by more than rounding, so that one of the two is wrong.
    """

    reference: float | None = None
    kind: ReferenceKind = ""
    ratio: float | None = None
    gap: float | None = None
    met: bool = False
    unbounded: bool = False
    contradicts: float | None = None

    @property
    def at_most(self) -> bool:
        """Whether the true ratio may be smaller: the reference is a bound that the answer does not meet."""
        return self.kind == "bound" and not self.met


def reference_of(
    answers: Sequence[Answered],
    sense: Sense,
    known: Known,
    *,
    named: Sequence[Answered] | None = None,
    taken: Sequence[ReferenceKind] = ("optimum", "bound", "answer"),
) -> Reference | None:
    """Find the reference of an instance; None: nothing is proven, or the named method found nothing.

    ``answers``: of all methods. ``known``: before methods ran. ``named``: answers of the method that is to be the reference,
    whose first value among the kinds ``taken`` it is; None: the best proven value is the reference.
    """
    optimum, bound = _optimum(answers, known), _bound(answers, sense, known)
    if optimum is None:  # an answer that meets the best bound is one, whoever proved the bound
        optimum = _met(answers, bound, known.constant)
    if named is not None:
        found = _of_method(named, taken, known.constant)
    else:
        found = _first({"optimum": optimum, "bound": bound}, ("optimum", "bound"))
    if found is None:
        return None
    proofs = tuple(proof for proof in (optimum, bound) if proof is not None)
    answered = known.optimum is not None or any(answer.objective is not None for answer in answers)
    return Reference(*found, sense, known.constant, proofs, answered)


def verdict(objective: float | None, reference: Reference | None) -> Verdict:
    """Measure the objective of an answer against a reference; both may be unknown.

    >>> verdict(20.0, Reference(16.0, "optimum"))  # doctest: +ELLIPSIS
    Verdict(reference=16.0, kind='optimum', ratio=1.25, gap=0.2, met=False, ...)
    """
    if reference is None:
        return Verdict()
    value, sense, constant = reference.value, reference.sense, reference.constant
    if objective is None:
        return Verdict(value, reference.kind)
    beaten = next((proof for proof in reference.proofs if beats(objective, proof, sense, constant)), None)
    met = meets(objective, value, constant)
    # An answer that is better by rounding only counts as equal: ratio 1, gap 0.
    compared = objective if met and sense.better(objective, value) else value
    worse, better = (objective, compared) if sense is Sense.MINIMIZE else (compared, objective)
    return Verdict(
        value,
        reference.kind,
        ratio(objective, compared, sense, constant),
        gap(objective, compared, constant),
        met,
        better == constant < worse,
        beaten,
    )


def _optimum(answers: Sequence[Answered], known: Known) -> float | None:
    """An optimum that a method proved, else the one that the instance's file states."""
    proven = (answer.objective for answer in answers if answer.status == TerminationStatus.OPTIMAL)
    return next((objective for objective in proven if objective is not None), known.optimum)


def _bound(answers: Sequence[Answered], sense: Sense, known: Known) -> float | None:
    """The tightest bound of the methods and of the instance's file."""
    bounds = [bound for bound in (*(answer.bound for answer in answers), known.bound) if bound is not None]
    return max(bounds, default=None) if sense is Sense.MINIMIZE else min(bounds, default=None)


def _met(answers: Sequence[Answered], bound: float | None, constant: float) -> float | None:
    """The first answer that meets a bound."""
    if bound is None:
        return None
    objectives = (answer.objective for answer in answers if answer.objective is not None)
    return next((objective for objective in objectives if meets(objective, bound, constant)), None)


def _of_method(
    answers: Sequence[Answered], taken: Sequence[ReferenceKind], constant: float
) -> tuple[float, ReferenceKind] | None:
    """The reference from a method's first answer that holds one of the kinds ``taken``."""
    for answer in answers:
        optimum = _optimum([answer], Known())
        if optimum is None:
            optimum = _met([answer], answer.bound, constant)
        found = _first({"optimum": optimum, "bound": answer.bound, "answer": answer.objective}, taken)
        if found is not None:
            return found
    return None


def _first(
    values: Mapping[ReferenceKind, float | None], taken: Sequence[ReferenceKind]
) -> tuple[float, ReferenceKind] | None:
    """The first of the kinds ``taken`` that has a value, and its value."""
    candidates = ((values[kind], kind) for kind in taken)
    return next(((value, kind) for value, kind in candidates if value is not None), None)
