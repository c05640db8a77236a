"""All runs of a policy, up to the order of events and the comparisons that it makes: a tree.

A node is reached by a path: the events so far, and the signs of the forms that were split on. There the run
is played again, from its start, on linear forms. It ends in a form that the path does not decide, in the
events that may come next, or with the last job: then works and arrivals are sums of lengths alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.numbers import Coefficients, Facts, Form, Undecided
from dlsched.worst.competitive.stream import ExactView, Run, Speeds, common

ARRIVAL = "arrival"
Step = tuple[str, Coefficients | None]
"""An event by name, without a form; or ``positive`` or ``negative`` and the form that was split on."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A run to its end, in the lengths of its intervals.

    Parameters
    ----------
    path
        Events and signs.
    present
        Number of jobs present in each interval.
    works, arrivals
        Work and arrival of each job: coefficients of the lengths.
    rows
        Forms >= 0 of the path, in its order: coefficients of the lengths.
    """

    path: tuple[Step, ...]
    present: tuple[int, ...]
    works: tuple[Coefficients, ...]
    arrivals: tuple[Coefficients, ...]
    rows: tuple[Coefficients, ...]


def runs(policy: Callable[[], Policy], tables: Sequence[Speeds], tick: Callable[[], None]) -> Iterator[Whole]:
    """Yield all runs of a policy on jobs of these tables, in order of arrival.

    Raises
    ------
    TypeError
        The policy does with its numbers what is not linear.
    """
    waiting: list[tuple[Step, ...]] = [((ARRIVAL, None),)]
    while waiting:
        tick()
        path = waiting.pop()
        found = _played(policy, tables, path)
        if isinstance(found, Whole):
            yield found
        else:
            waiting += [(*path, step) for step in reversed(found)]


def _played(policy: Callable[[], Policy], tables: Sequence[Speeds], path: tuple[Step, ...]) -> Whole | list[Step]:
    """Play a path; return the whole run, or the steps that may follow."""
    jobs = len(tables)
    size = jobs + 2 * jobs - 1
    facts = Facts()

    def variable(index: int) -> Form:
        return Form(tuple(Fraction(int(k == index)) for k in range(size)), facts)

    zero = Form((Fraction(0),) * size, facts)
    works = [variable(job) for job in range(jobs)]
    run = Run(policy(), ExactView(len(tables[0]), zero), zero)
    present, ended, arrivals, rows, interval = (
        list[int](),
        dict[int, Coefficients](),
        list[Form](),
        list[Coefficients](),
        0,
    )
    for at, (name, form) in enumerate(path):
        if form is not None:
            continue
        if at:
            length = variable(jobs + interval)
            present.append(len(run.view.present))
            run.wait(length)
            interval += 1
        if name == ARRIVAL:
            job = len(arrivals)
            arrivals.append(form_of(run.view.now_s))
            run.admit(job, tables[job], works[job] / common(tables[job]))
        else:
            job = int(name.split()[1])
            spent = (works[job] / common(tables[job]) - run.view.present[job].left) * common(tables[job])
            ended[job] = form_of(spent).coefficients
            run.end(job)
        splits = _splits(path[at + 1 :])
        facts.positive[:] = [*rows, *splits, *(form_of(each.left).coefficients for each in run.view.present.values())]
        rows += splits
        try:
            held = run.decide()
        except Undecided as open_:
            assert at + 1 + len(splits) == len(path)
            return [("positive", open_.form), ("negative", open_.form)]
        if at + 1 + len(splits) == len(path) and (run.view.present or len(arrivals) < jobs):
            more = [ARRIVAL] if len(arrivals) < jobs else []
            return [(event, None) for event in (*more, *(f"end {job}" for job in held))]
    lengths = [ended[job][jobs:] for job in range(jobs)]

    def in_lengths(form: Coefficients) -> Coefficients:
        return tuple(
            form[jobs + k] + sum((form[job] * lengths[job][k] for job in range(jobs)), Fraction(0))
            for k in range(2 * jobs - 1)
        )

    return Whole(
        path,
        tuple(present),
        tuple(lengths),
        tuple(each.coefficients[jobs:] for each in arrivals),
        tuple(in_lengths(row) for row in rows),
    )


def form_of(number: object) -> Form:
    """Return a number that has to be a form."""
    assert isinstance(number, Form)
    return number


def _splits(path: Sequence[Step]) -> list[Coefficients]:
    """The rows of the splits that come before the next event."""
    rows = []
    for name, form in path:
        if form is None:
            break
        rows.append(form if name == "positive" else tuple(-each for each in form))
    return rows
