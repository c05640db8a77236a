"""The termination status: why a method stopped. Solution and bound are separate facts, see ``Result``."""

from enum import StrEnum


class TerminationStatus(StrEnum):
    """Why a method stopped; result files hold these words."""

    OPTIMAL = "optimal"
    """A proven bound meets the objective of the solution held."""
    FEASIBLE = "feasible"
    """The method finished with a solution that it does not prove optimal, or (for a bound) with a bound."""
    NO_SOLUTION = "no_solution"
    """A heuristic finished without a solution; there may be one."""
    INFEASIBLE = "infeasible"
    """No solution exists, and that is proven."""
    UNBOUNDED = "unbounded"
    """A model with a user-defined objective has solutions, and no best one."""
    TIME_LIMIT = "time_limit"
    """The time limit stopped it."""
    NODE_LIMIT = "node_limit"
    """The node limit stopped it."""
    MEMORY_LIMIT = "memory_limit"
    """It would have needed more memory than it may use."""
    INTERRUPTED = "interrupted"
    """The user stopped it."""
    SOLVER_ERROR = "solver_error"
    """The solver failed; the message says how."""


class Sense(StrEnum):
    """Whether less or more of the objective is better."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    def better(self, first: float, second: float) -> bool:
        """Whether ``first`` is strictly better than ``second``."""
        return first < second if self is Sense.MINIMIZE else first > second
