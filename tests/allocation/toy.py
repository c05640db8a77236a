"""Two jobs with tables, as a family would hand them over; small enough to do by hand."""

from dataclasses import dataclass
from fractions import Fraction

from dlsched.allocation.certificate import Proof
from dlsched.allocation.cost_table import CostTable


@dataclass(frozen=True)
class Job:
    """A job and what each allowed count costs it."""

    id: str
    costs: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Toy:
    """Jobs that share units."""

    jobs: tuple[Job, ...]
    capacity: int

    @property
    def index(self):
        """Position of every job by its id."""
        return {job.id: index for index, job in enumerate(self.jobs)}

    def counts(self, job):
        """Allowed counts, ascending."""
        return [count for count, _ in self.jobs[job].costs]


TOY = Toy((Job("a", ((1, 9.0), (2, 5.0), (4, 1.0))), Job("b", ((1, 4.0), (3, 2.0)))), 5)
"""The best that fits costs 5: four units for a, one for b; free units would change nothing."""


def tabulate(toy):
    """The cost table."""
    return CostTable.from_rows([dict(job.costs) for job in toy.jobs])


def minima(toy, price, tick):
    """Of cost + price x count, job after job."""
    for job in toy.jobs:
        tick()
        yield min(Fraction(cost) + price * count for count, cost in job.costs)


def parts(toy, price, choices, tick):
    """Multipliers and negative terms."""
    for job, choice in zip(toy.jobs, choices, strict=True):
        tick()
        yield choice
        yield sum(min(Fraction(0), Fraction(cost) + price * count - choice) for count, cost in job.costs)


PROOF = Proof(minima, parts, largest=1e9)
