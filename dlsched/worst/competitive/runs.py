"""All runs of a policy: a tree that branches by the event that comes next, and by the signs of forms.

A node is reached by a path: the events so far, and the signs of the forms that were split on. There the run
is played again, from its start, on linear forms. It ends in a form that the path does not decide, in the
events that may come next, or with the last job: then works and arrivals are sums of lengths alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import cast

from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.stream import (
    Coefficients,
    ExactView,
    Facts,
    Form,
    Run,
    Speeds,
    Undecided,
    common,
    epoch_times,
)
from dlsched.worst.competitive.tables import Cut, Simplex, TableFacts, Varying, in_lengths

ARRIVAL = "arrival"
Step = tuple[str, Coefficients | None]
"""An event by name, without a form; or ``positive`` or ``negative`` and the form that was split on."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A run to its end: path, weight of the jobs present in each interval; works, arrivals and rows >= 0 in their lengths.

    On a simplex of tables an interval stands there once for each monomial: ``tables.in_lengths``.
    """

    path: tuple[Step, ...]
    present: tuple[int, ...]
    works: tuple[Coefficients, ...]
    arrivals: tuple[Coefficients, ...]
    rows: tuple[Coefficients, ...]


class Unbounded(Exception):  # noqa: N818  an answer: the ratio has no bound
    """Jobs wait for ever after the events of a path, or as long as an arrival is put off."""

    def __init__(self, path: Sequence[Step]) -> None:
        super().__init__(", ".join(name for name, form in path if form is None))


def runs(
    policy: Callable[[], Policy],
    tables: Sequence[Speeds],
    weights: Sequence[int],
    tick: Callable[[], None],
    simplex: Simplex | None = None,
) -> Iterator[Whole]:
    """Yield all runs of a policy on jobs of these tables and weights, in order of arrival; or on all tables of a simplex.

    ``TypeError``: its decisions are not linear; ``Unbounded``: it lets jobs wait for ever; ``Cut``: it decides by the table.
    """
    waiting: list[tuple[Step, ...]] = [((ARRIVAL, None),)]
    while waiting:
        tick()
        path = waiting.pop()
        found = _played(policy, tables, weights, path, simplex)
        if isinstance(found, Whole):
            yield found
        else:
            waiting += [(*path, step) for step in reversed(found)]


def _played(
    policy: Callable[[], Policy],
    tables: Sequence[Speeds],
    weights: Sequence[int],
    path: tuple[Step, ...],
    simplex: Simplex | None,
) -> Whole | list[Step]:
    """Play a path; return the whole run, or the steps that may follow."""
    jobs = len(tables)
    # works of the jobs, and lengths between their 2 J events
    size = jobs + 2 * jobs - 1
    facts = Facts() if simplex is None else TableFacts(simplex, size)

    # seconds per epoch, and units of work of an epoch
    if isinstance(facts, TableFacts):
        times = cast("list[dict[int, Fraction]]", [facts.times()] * jobs)
        epochs = [1] * jobs
    else:
        times, epochs = [epoch_times(each) for each in tables], [common(each) for each in tables]

    def variable(index: int) -> Form:
        numbers = tuple(int(k == index) for k in range(size))
        return cast("Form", facts.form(numbers)) if isinstance(facts, TableFacts) else Form(numbers, facts)

    zero = variable(-1)
    works = [variable(job) for job in range(jobs)]
    run = Run(policy(), ExactView(len(tables[0]), zero, weights), zero)
    present, ended = list[int](), dict[int, Coefficients]()
    arrivals, rows, positive = list[Coefficients](), list[Coefficients](), list[tuple[int, ...]]()
    for at, (name, form) in enumerate(path):
        if form is not None:
            continue
        if at:
            run.wait(variable(jobs + len(present)))
            present.append(sum(weights[job] for job in run.view.present))
        if name == ARRIVAL:
            job = len(arrivals)
            arrivals.append(form_of(run.view.now_s).coefficients)
            run.admit(job, times[job], weights[job], works[job] / epochs[job])
        else:
            job = int(name.split()[1])
            # the work done until the end is the job's work: solves for it in lengths
            spent = (works[job] / epochs[job] - run.view.present[job].remaining) * epochs[job]
            ended[job] = form_of(spent).coefficients
            run.end(job)
        splits = _splits(path[at + 1 :])
        # rows of the path, splits after this event, and what jobs have left
        rows += splits
        for row in splits:
            scale = lcm(*(each.denominator for each in row))
            positive.append(tuple(int(each * scale) for each in row))
        facts.positive[:] = [*positive, *(form_of(each.remaining).numbers for each in run.view.present.values())]
        try:
            running = run.decide()
        except (Undecided, Cut):
            assert at + 1 + len(splits) == len(path)
        if isinstance(facts, TableFacts) and facts.cut is not None:
            raise facts.cut
        if facts.undecided is not None:  # a policy may have caught it
            form = facts.undecided.form
            return [("positive", form), ("negative", form)]
        if at + 1 + len(splits) == len(path) and (run.view.present or len(arrivals) < jobs):
            more = [ARRIVAL] if len(arrivals) < jobs else []
            if not more and not running:
                raise Unbounded(path)
            return [(event, None) for event in (*more, *(f"end {job}" for job in running))]
    variables = 0 if simplex is None else simplex.size
    done = [ended[job] for job in range(jobs)]
    many, lengths, forms = in_lengths(variables, jobs, present, done, [*arrivals, *rows])
    return Whole(path, many, tuple(lengths), tuple(forms[:jobs]), tuple(forms[jobs:]))


def form_of(number: object) -> Form | Varying:
    """Return a number that has to be a form."""
    assert isinstance(number, Form | Varying)
    return number


def _splits(path: Sequence[Step]) -> list[Coefficients]:
    """The rows of the splits that come before the next event."""
    rows = []
    for name, form in path:
        if form is None:
            break
        rows.append(form if name == "positive" else tuple(-each for each in form))
    return rows
