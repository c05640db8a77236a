"""Verification of a store: rows match their seals, and contradict neither themselves nor each other.

Checked for each row, and for the rows of one instance:

- `optimal` has an objective and a bound, which meet; no bound is on the wrong side of its answer;
- a row with an answer has an instance that was made; `infeasible` has neither answer nor bound;
- no checked answer is better than a bound that another row proves, or than a proven optimum; nobody answers what is infeasible.

Numbers meet as ``core.gap`` says.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from dlsched.core.errors import DisagreementError, SealError
from dlsched.core.gap import beats, meets
from dlsched.core.messages import printable
from dlsched.core.status import Sense
from dlsched.study.rows import Row
from dlsched.study.store.database import located
from dlsched.study.store.packing import seed_from, unpack
from dlsched.study.store.seals import Ledger, Place, broken
from dlsched.study.store.store import Store
from dlsched.study.store.stored_rows import about_of, rows_by_instance

NAMED = 10
"""Largest number of rows that a message names."""
_LOOKED_UP = 100
"""Largest number of table rows that are looked up to name them."""
_EMPTY = ("infeasible", "no_solution", "timeout", "memory", "error", "rejected")
"""Statuses without an answer."""
_OF_TABLE = {
    "environment": "study.environment = ?",
    "study": "study.id = ?",
    "instance": "planned.instance = ?",
    "fact": "instance.content = ?",
    "method": "planned.method = ?",
    "planned": "planned.study = ? AND planned.position = ?",
    "result": "planned.cell = ?",
}


def require_true(store: Store, ledger: Ledger | None = None) -> None:
    """Verify the seals of a store, and compare the rows of the shown study with each other.

    Parameters
    ----------
    store
        The open store.
    ledger
        Seals that the caller knows; None: only the stored seals are compared.

    Raises
    ------
    SealError
        Rows changed after they were written.
    DisagreementError
        Rows contradict themselves or each other.
    InputError
        The store is damaged.
    """
    require_sealed(store, ledger)
    if not list(store.each("SELECT 1 FROM study LIMIT 1")):
        return
    if not store.tables:
        _require_legible(store)
    named, count = list[str](), 0
    for rows, sense, facts in rows_by_instance(store):
        for row, why in (*_alone(store, rows, sense, facts.constant), *_together(rows, sense, facts.constant)):
            count += 1
            if len(named) < NAMED:
                named.append(f"{row_words(row.method, row.instance, row.seed)}: {why}")
    if count:
        said = f"{count:,} contradictions between rows" if count > 1 else "a contradiction between rows"
        raise DisagreementError(f"{store.path}: {said}: {_list(named, count > NAMED)}")


def require_sealed(store: Store, ledger: Ledger | None = None) -> None:
    """Compare the seals of all rows with the rows' values, and with the ledger; errors as above."""
    if ledger is not None and set(ledger.tables) != set(store.tables):
        raise SealError(f"{store.path}: somebody else wrote into the store: the seals of its rows are gone")
    with located(store.path):
        places = list(broken(store.database, store.tables, ledger))
    if not places:
        return
    _require_legible(store)
    named = dict[str, None]()
    for place in places[:_LOOKED_UP]:
        if len(named) <= NAMED:
            named |= dict.fromkeys(_named(store, place))
    counts = Counter(table for table, _, _ in places)
    found = ", ".join(f"{count} of table {table}" for table, count in counts.items())
    raise SealError(f"{store.path}: rows are not what was written ({found}): {_list(list(named), len(named) > NAMED)}")


def _require_legible(store: Store) -> None:
    """Read everything once, so that a damaged store is reported as damaged, not as changed."""
    about_of(store)
    for _ in rows_by_instance(store):
        pass
    for (instance,) in store.each("SELECT DISTINCT instance FROM planned WHERE study = ?", store.shown):
        store.recipe(instance)
    for packed in store.each("SELECT solution, certificate FROM result"):
        for each in packed:
            unpack(store.path, each)


def row_words(method: object, instance: object, seed: object) -> str:
    """Describe a row by its method, instance and seed."""
    said = f"{printable(str(method))} on {printable(str(instance))}"
    return said if seed is None else f"{said} (seed {seed})"


def _named(store: Store, place: Place) -> Iterator[str]:
    """Describe the cells to which a row of a table belongs, as many as a message names."""
    table, study, key = place
    if study is None or key is None:
        return
    condition = _OF_TABLE.get(table, "0")
    found = list(
        store.each(
            "SELECT DISTINCT method.label, coalesce(fact.name, instance.source), instance.seed FROM planned"
            " JOIN study ON study.id = planned.study LEFT JOIN instance ON instance.id = planned.instance"
            " LEFT JOIN fact ON fact.content = instance.content LEFT JOIN method ON method.id = planned.method"
            f" WHERE {condition} LIMIT {NAMED + 1}",
            *(study, key)[2 - condition.count("?") :],
        )
    )
    yield from (row_words(method, instance, seed_from(store.path, seed)) for method, instance, seed in found)
    if not found:
        yield f"{table} {printable(str(key))}"


def _list(named: Sequence[str], more: bool) -> str:
    return "; ".join(named[:NAMED]) + ("; and others" if more else "")


def _alone(store: Store, rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows that contradict themselves, with the reason."""
    for row in rows:
        why = _why(row, sense, constant) or ("" if store.tables else _against_certificate(store, row, sense, constant))
        if why:
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


def _against_certificate(store: Store, row: Row, sense: Sense, constant: float) -> str:
    """Compare an unsealed row with the value that its stored certificate claims."""
    (packed,) = store.one("SELECT certificate FROM result JOIN cell ON cell.id = result.cell WHERE key = ?", row.key)
    certificate = unpack(store.path, packed)
    value = certificate.get("value") if isinstance(certificate, dict) else None
    if not isinstance(value, int | float):
        return ""
    if row.bound is None or beats(row.bound, value, sense, constant):
        return f"its bound is {row.bound!r}, but its certificate proves {value!r}"
    if row.objective is not None and beats(row.objective, value, sense, constant):
        return f"its objective {row.objective!r} is better than the {value!r} that its certificate proves"
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
