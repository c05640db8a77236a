"""Contradictions between the rows of a study.

Checked for each row, and for the rows of one instance:

- `optimal` has an objective and a bound, which meet; no bound is on the wrong side of its answer;
- a row with an answer has an instance that was made; `infeasible` has neither answer nor bound;
- no checked answer is better than a bound that another row proves, or than a proven optimum; nobody answers what is infeasible.

Numbers meet as ``core.gap`` says. That rows are what was computed is for ``study.checking``.
"""

from collections.abc import Iterator, Sequence

from dlsched.core.errors import DisagreementError
from dlsched.core.gap import beats, meets
from dlsched.core.messages import printable
from dlsched.core.status import Sense
from dlsched.study.rows import Row
from dlsched.study.store.store import Store
from dlsched.study.store.stored_rows import about_of, rows_by_instance

NAMED = 10
"""Largest number of rows that a message names."""
_EMPTY = ("infeasible", "no_solution", "timeout", "memory", "error", "rejected")
"""Statuses without an answer."""


def require_consistent(store: Store) -> None:
    """Compare the rows of the shown study with themselves and with each other.

    Raises
    ------
    DisagreementError
        Rows contradict themselves or each other.
    InputError
        The store is damaged.
    """
    if not list(store.each("SELECT 1 FROM study LIMIT 1")):
        return
    about_of(store)
    named, count = list[str](), 0
    for rows, sense, facts in rows_by_instance(store):
        for row, why in (*_alone(rows, sense, facts.constant), *_together(rows, sense, facts.constant)):
            count += 1
            if len(named) < NAMED:
                named.append(f"{row_words(row.method, row.instance, row.seed)}: {why}")
    if count:
        said = f"{count:,} contradictions between rows" if count > 1 else "a contradiction between rows"
        more = "; and others" if count > NAMED else ""
        raise DisagreementError(f"{store.path}: {said}: {'; '.join(named)}{more}")


def row_words(method: object, instance: object, seed: object) -> str:
    """Describe a row by its method, instance and seed."""
    said = f"{printable(str(method))} on {printable(str(instance))}"
    return said if seed is None else f"{said} (seed {seed})"


def _alone(rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows that contradict themselves, with the reason."""
    for row in rows:
        if why := _why(row, sense, constant):
            yield row, why


def _why(row: Row, sense: Sense, constant: float) -> str:
    objective, bound = row.objective, row.bound
    met = objective is not None and bound is not None and meets(objective, bound, constant)
    if row.status == "optimal" and not met:
        return f"it is called optimal, but objective {objective!r} and bound {bound!r} do not meet"
    if objective is not None and bound is not None and beats(objective, bound, sense, constant):
        return f"its objective {objective!r} is better than its own bound {bound!r}"
    if row.status in _EMPTY and objective is not None:
        return f"it is called {row.status}, but has an answer of {objective!r}"
    if row.status in _EMPTY and row.status != "no_solution" and bound is not None:
        return f"it is called {row.status}, but has a bound of {bound!r}"
    if row.status == "feasible" and objective is None and bound is None:
        return "it is called feasible, but has neither an answer nor a bound"
    return ""


def _together(rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows that contradict another row of the same instance, with the reason."""
    proofs = [(row.bound, row.method) for row in rows if row.bound is not None]
    impossible = next((row.method for row in rows if row.status == "infeasible"), None)
    tightest = (max if sense is Sense.MINIMIZE else min)(proofs, default=None, key=lambda proof: proof[0])
    for row in rows:
        if row.objective is None:
            continue
        if impossible is not None and impossible != row.method:
            yield row, f"it has an answer of {row.objective!r}, but {printable(impossible)} proves that there is none"
        if tightest is not None and tightest[1] != row.method:
            bound, method = tightest
            if beats(row.objective, bound, sense, constant):
                yield (
                    row,
                    f"its objective {row.objective!r} is better than the {bound!r} that {printable(method)} proves",
                )
