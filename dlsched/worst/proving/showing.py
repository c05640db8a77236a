"""Tables on which a worst run happens: one that attains its ratio, or two whose combinations approach it.

A step needs ``>`` if a tie would be decided otherwise, but the programs have ``>=``. If a table of the
largest ratio satisfies all rows that have to be strict, for some order of the jobs, it attains the supremum.
Else a *limit* satisfies the rows as the programs have them, and an *inside* table satisfies them strictly.
The run happens on limit + e inside, e > 0, and its ratio approaches the supremum as e approaches 0; if the
limit's best allocation costs nothing, the ratio is unbounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, permutations, product

import numpy as np

from dlsched.worst.proving.elimination import RIGHT, Equation, solution
from dlsched.worst.proving.programs import Place
from dlsched.worst.proving.runs import Row, Rows, class_rows
from dlsched.worst.proving.search import Leaf
from dlsched.worst.proving.setting import Setting

Table = dict[Place, Fraction]
_TIGHT = 1e-7
_ORDERS = 24


@dataclass(frozen=True)
class Run:
    """A whole run and its rows, sorted by whether they have to be strict.

    Parameters
    ----------
    steps
        Triples (job, from, to), the first step first.
    loose
        Rows ``>= 0`` that may be 0.
    strict
        Rows that have to be ``> 0``.
    turns
        Rows of comparisons with another job, ``> 0`` if that job comes before the one that takes its step.
    """

    steps: tuple[tuple[int, int, int], ...]
    loose: Rows
    strict: Rows
    turns: dict[tuple[int, int], list[Row]]


def run_of(setting: Setting, leaf: Leaf) -> Run:
    """Sort the rows of a worst run."""
    steps, targets = [], [target for _, target, _ in leaf.tail.end]
    counts = [count for count, _, _ in leaf.tail.end]
    loose, strict = class_rows(setting), {}
    turns: dict[tuple[int, int], list[Row]] = {}
    for job, low in leaf.tail.steps:
        steps.append((job, low, counts[job]))
        targets[job], counts[job] = counts[job], low
    for job, low, high in steps:
        strict[f"saves {job} {low} {high}"] = {(job, low): 1, (job, high): -1}
    for name, row in leaf.rows.items():
        kind, *numbers = name.split()
        if kind == "turn":
            turns.setdefault((steps[int(numbers[0]) - 1][0], int(numbers[1])), []).append(row)
        elif kind == "steep" and int(numbers[3]) < int(numbers[2]):  # a count on the line would not be passed over
            strict[name] = row
        else:
            loose[name] = row
    return Run(tuple(reversed(steps)), loose, strict, turns)


def attaining(setting: Setting, leaf: Leaf, supremum: Fraction) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Yield tables that may attain the largest ratio, each with the order of the jobs that decides its ties.

    The method takes no steps that save nothing; still, a table on which the last steps save nothing may
    attain the ratio.
    """
    run = run_of(setting, leaf)
    worst = {place: Fraction(0) for place in (*leaf.held, *leaf.best)}
    for place in leaf.held:
        worst[place] += supremum.denominator
    for place in leaf.best:
        worst[place] -= supremum.numerator
    equal = [(worst, Fraction(0)), (dict.fromkeys(leaf.best, Fraction(1)), Fraction(1))]
    for order, saving in product(islice(permutations(range(setting.jobs)), _ORDERS), (True, False)):
        loose, strict = list(run.loose.values()), list[Row]()
        for name, row in run.strict.items():
            (strict if saving or not name.startswith("saves") else loose).append(row)
        for (job, other), rows in run.turns.items():
            (strict if order.index(other) < order.index(job) else loose).extend(rows)
        table = _table(setting, loose, strict, equal)
        if table is not None:
            yield table, order


def approaching(setting: Setting, leaf: Leaf, supremum: Fraction | None) -> tuple[Table, Table] | None:
    """Return a limit and an inside table; None if the solver finds none in floats."""
    run = run_of(setting, leaf)
    turns = [row for rows in run.turns.values() for row in rows]
    loose, strict = list(run.loose.values()), list(run.strict.values())
    held, best = (dict.fromkeys(places, Fraction(1)) for places in (leaf.held, leaf.best))
    inside = _table(setting, loose, strict + turns, [(best, Fraction(1))])
    if supremum is None:
        limit = _table(setting, loose + strict + turns, None, [(best, Fraction(0)), (held, Fraction(1))])
    else:
        limit = _table(setting, loose + strict + turns, None, [(best, Fraction(1)), (held, supremum)])
    return None if limit is None or inside is None else (limit, inside)


def _table(
    setting: Setting,
    loose: Sequence[Row],
    strict: Sequence[Row] | None,
    equal: Sequence[tuple[dict[Place, Fraction], Fraction]],
) -> Table | None:
    """Return the table with strict rows and costs as far from 0 as possible; None if they cannot be > 0.

    With None for ``strict`` costs may be 0. HiGHS finds a vertex in floats; the equations that it meets are
    solved exactly.
    """
    from scipy.optimize import linprog

    places = [(job, count) for job in range(setting.jobs) for count in setting.counts]
    index = {place: k for k, place in enumerate(places)}
    margin = len(places)
    rows: list[Equation] = [{index[place]: Fraction(c) for place, c in row.items() if c} for row in loose]
    if strict is not None:
        rows += [
            {
                **{index[place]: Fraction(c, max(map(abs, row.values()))) for place, c in row.items() if c},
                margin: Fraction(-1),
            }
            for row in (*strict, *({place: 1} for place in places))
        ]
    fixed = [{**{index[place]: value for place, value in left.items() if value}, RIGHT: right} for left, right in equal]
    cost = np.zeros(margin + 1)
    cost[margin] = -1.0
    a, e = (np.array([[float(row.get(k, 0)) for k in range(margin + 1)] for row in each]) for each in (rows, fixed))
    right = [float(row.get(RIGHT, 0)) for row in fixed]
    bounds = [(0, None)] * margin + [(0, None if strict is not None else 0)]
    found = linprog(
        cost, A_ub=-a, b_ub=np.zeros(len(rows)), A_eq=e, b_eq=right, bounds=bounds, options={"presolve": False}
    )
    if found.status != 0 or (strict is not None and found.x[margin] < _TIGHT):
        return None
    met = [row for row, slack in zip(rows, a @ found.x, strict=True) if row and slack < _TIGHT]
    zero: list[Equation] = [{k: Fraction(1)} for k, value in enumerate(found.x) if value < _TIGHT]
    exact = solution([*fixed, *zero, *met], margin + 1)
    if exact is None or min(exact) < 0 or (strict is not None and exact[margin] == 0):
        return None
    if any(sum(c * exact[k] for k, c in row.items()) < 0 for row in rows):
        return None
    return {place: exact[k] for place, k in index.items()}
