"""The state of one run: the best checked solution so far, and the best proven bound."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic

from dlsched.core.errors import ContradictionError, SolverError
from dlsched.core.gap import gap, meets, rounding
from dlsched.core.limits import LOGGER, Budget, Limits, Progress, ProgressCallback
from dlsched.core.result import Certificate, SolutionT, Violation
from dlsched.core.status import Sense, TerminationStatus

if TYPE_CHECKING:
    import numpy as np

CONTRADICTION = "contradiction"
"""First word of the message of an error in which two proofs, or a proof and a checked solution, exclude each other."""


class Search(Generic[SolutionT]):
    """Holds the arguments of a run for the method, and takes the solutions and bounds that the method finds.

    Parameters
    ----------
    objective, check
        The family's checker, bound to the instance.
    sense, constant
        As ``Result`` has them.
    limits, seed, solver, start, progress
        As ``solve`` was called.
    name
        What records of the log begin with: instance and method.
    """

    def __init__(
        self,
        *,
        objective: Callable[[SolutionT], float],
        check: Callable[[SolutionT], Sequence[Violation]],
        sense: Sense,
        limits: Limits,
        constant: float = 0.0,
        seed: int = 0,
        solver: str | None = None,
        start: SolutionT | None = None,
        progress: ProgressCallback | None = None,
        name: str = "",
    ) -> None:
        self.budget = Budget(limits, counted=lambda: self.report("search"))
        self._objective, self._check = objective, check
        self.sense, self.constant = sense, constant
        self._progress = progress
        self._told = f"{name}: " if name else ""
        self.seed, self.solver, self.start = seed, solver, start
        self.solution: SolutionT | None = None
        self.objective: float | None = None
        self.bound: float | None = None
        self.bound_source: str | None = None
        self.certificate: Certificate | None = None
        self.solver_version: str | None = None
        self.message = ""
        self.called_s: float | None = None  # seconds of a user's function alone, without what is done around its call
        self.of_model = False  # whether bound and status are those of a model that a user may have extended
        self.failure: type[SolverError] | None = None  # the class only: an error keeps its frames alive

    def tick(self, nodes: int = 0) -> None:
        """Count nodes and stop at a limit, as ``Budget.tick``."""
        self.budget.tick(nodes)

    @property
    def left(self) -> Limits:
        """The limits minus what the run has used."""
        return self.budget.left

    @cached_property
    def generator(self) -> "np.random.Generator":
        """Random numbers from the seed."""
        import numpy as np  # imported here, since commands that do not solve do not need NumPy

        return np.random.default_rng(self.seed)

    @property
    def proven(self) -> bool:
        """Whether the bound meets the objective held."""
        return (
            self.objective is not None and self.bound is not None and meets(self.objective, self.bound, self.constant)
        )

    def closed(self, within: float) -> bool:
        """Whether bound and objective differ by at most ``within``, less than ``proven`` allows."""
        if self.objective is None or self.bound is None:
            return False
        return meets(self.objective, self.bound, self.constant, within=within)

    def violations(self, solution: SolutionT) -> Sequence[Violation]:
        """Return the rules that a solution breaks, by the checker."""
        return self._check(solution)

    @property
    def incumbent(self) -> SolutionT:
        """The solution held, where there is sure to be one."""
        assert self.solution is not None
        return self.solution

    def offer(self, solution: SolutionT | None, *, source: str, or_equal: bool = False) -> bool:
        """Keep a solution when the checker passes it and it is better than the one held; say whether it was kept.

        None means that a heuristic found nothing. ``or_equal``: the solution is better in a respect that the objective does not
        measure, so it also replaces one whose objective is equal up to rounding. SolverError: the checker rejects it.
        """
        if solution is None:
            return False
        violations = self.violations(solution)
        if violations:
            raise SolverError(f"{source} returned an answer that the checker rejects: {violations[0]}")
        objective = self._objective(solution)
        self._require_consistent(objective, self.bound, f"{source} and {self.bound_source}")
        best = self.objective
        if best is not None and not self.sense.better(objective, best):
            as_good = or_equal and abs(objective - best) <= rounding(objective, best)
            if not as_good:
                return False
        self.solution, self.objective = solution, objective
        LOGGER.info("%sincumbent %r, by %s", self._told, objective, source)
        self.report(source)
        return True

    def consider(self, solution: SolutionT, *, source: str) -> None:
        """Keep a solver's incumbent if the checker accepts it: solvers' tolerances are wider."""
        if not self.violations(solution):
            self.offer(solution, source=source)

    def prove(self, bound: float, *, source: str, certificate: Certificate | None = None) -> None:
        """Record a bound when it is tighter than the one held, and a certificate when it proves more than the one held.

        SolverError: the solution held is better than the bound allows, so ``source`` broke its promise.
        """
        self._require_consistent(self.objective, bound, f"{source} and the checker")
        current = self.certificate
        if certificate is not None and (current is None or self.sense.better(current.value, certificate.value)):
            self.certificate = certificate
        if self.bound is None or self.sense.better(self.bound, bound):
            self.bound, self.bound_source = bound, f"{source}, of the model" if self.of_model else source
            LOGGER.info("%sbound %r, by %s", self._told, bound, self.bound_source)
            self.report(source)

    def certify(self, certificate: Certificate) -> None:
        """Record a certificate if its bound is tighter than the best so far."""
        if self.bound is None or self.sense.better(self.bound, certificate.value):
            self.prove(certificate.value, source="certificate", certificate=certificate)

    def optimal(self, source: str) -> TerminationStatus:
        """Record that the incumbent is optimal."""
        assert self.objective is not None
        self.prove(self.objective, source=source)
        return TerminationStatus.OPTIMAL

    def restate(self, certificate: Certificate) -> None:
        """Replace the certificate by another form; a bound from the certificate takes the new value."""
        self.certificate = certificate
        if self.bound_source == "certificate":
            self.bound = certificate.value

    def _require_consistent(self, objective: float | None, bound: float | None, who: str) -> None:
        if objective is None or bound is None or not self.sense.better(objective, bound):
            return
        if meets(objective, bound, self.constant):
            return
        message = f"bound {bound!r}, but a solution of {objective!r} is held"
        raise ContradictionError(f"{who} disagree: {message}", where=CONTRADICTION)

    def say(self, sentence: str) -> None:
        """Add a sentence, which may be empty, to the message."""
        self.message = "; ".join(filter(None, (self.message, sentence)))

    def report(self, doing: str) -> None:
        """Tell the progress callback where the search stands."""
        self.watch(doing, None, None, 0)

    def watch(self, doing: str, objective: float | None, bound: float | None, nodes: int) -> None:
        """Report what a running solver says it holds, or what is held where that is better; nothing is recorded."""
        if self._progress is None:
            return
        # A solver may not know the incumbent that other methods offered: the better of the two is shown.
        if objective is None or (self.objective is not None and not self.sense.better(objective, self.objective)):
            objective = self.objective
        if bound is None or (self.bound is not None and not self.sense.better(self.bound, bound)):
            bound = self.bound
        between = gap(objective, bound, self.constant)
        count = self.budget.nodes + nodes
        self._progress(Progress(self.budget.elapsed_s, objective, bound, count, doing, gap=between))
