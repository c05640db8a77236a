"""``hold_to_bound``: a search for an instance on which a method is worse than a factor of the optimum.

Instances come from the strategies of ``dlsched.testing`` (few jobs, ties, numbers of all magnitudes), and from the spaces of
``find_worst``: a family's own space and its widest ones, with draws of every preset, from which a search climbs.
"""

import json
from collections.abc import Iterable
from types import ModuleType
from typing import cast

from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from dlsched.catalogue.families import Value
from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.families import find_family
from dlsched.solving import MethodLike, method_of
from dlsched.testing.cases import CASES
from dlsched.testing.contract import hold_examples, require_factor
from dlsched.worst.judge import Failure, Judge, Judged, finite
from dlsched.worst.search import find_worst, require_search
from dlsched.worst.spaces import space_of

BUDGET = 1000
STRATEGY = 0.1
"""Share of the budget that goes to instances of the strategy."""
SLACK = 1e-9
"""Relative excess over the factor that is taken for rounding."""

_TABLES: dict[str, Value] = {"tables": "any", "counts": "all"}
WIDEST: dict[str, tuple[dict[str, Value], ...]] = {
    "ring_allocation": (_TABLES,),
    "elastic_stream": (_TABLES, {"restart": 10.0}),
    "matching_placement": ({"limited": True}, {"objective": "max_rho"}, {"objective": "alpha_fair", "alpha": 2.0}),
    "srpt_mapping": ({"prediction_error": 4.0},),
    "ring_embedding": tuple({"utility": kind} for kind in ("capped", "sqrt", "log")),
}
"""Options of the widest spaces of a family, which are searched beside its own."""


def hold_to_bound(
    family: str | ModuleType,
    method: MethodLike,
    factor: float,
    *,
    instances: SearchStrategy[InstanceFile] | Iterable[InstanceFile] | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> None:
    """Search for an instance on which a method is worse than ``factor`` times the optimum, and assert that there is none.

    The ratio is that of ``find_worst`` and ``compare``: above 1 is worse, also where the objective is maximised. It is of
    answers: an instance on which the method has none breaks no bound. A pass is no proof: it says that this search, with
    this seed and budget, met no counterexample.

    Parameters
    ----------
    family
        A name of ``dlsched.FAMILIES``, or the module of the family.
    method
        As ``solve`` takes it: a name, a function of an instance, a policy or its class, ``"file.py:function"``.
    factor
        The claimed bound on the ratio, >= 1.
    instances
        The instances of which it is claimed: a strategy of Hypothesis, or instances; None: all of the family.
    budget
        Number of evaluations, >= 1, each a run of the method and of an exact one.
    seed
        Seed of all draws; the same arguments try the same instances.

    Raises
    ------
    AssertionError
        The claim is false, or the method raised an error or broke a rule; the message holds the instance as JSON.
    UsageError
        There is no such family or method, or a number is out of range.

    >>> from dlsched import ring_allocation
    >>> hold_to_bound(ring_allocation, "exact", 1.0, budget=50)
    """
    record = find_family(family)
    require_search(budget, seed)
    require_factor("factor", factor)
    chosen, beyond = method_of(record, method), factor * (1 + SLACK)

    def fail(failure: Failure) -> None:
        raise AssertionError(f"{failure.message}\nthe instance, as a file: {_json(failure.instance)}")

    def message(ratio: float | None, objective: float | None, reference: float, instance: InstanceFile) -> str:
        at = "without bound" if ratio is None else f"ratio {ratio:.6g}"
        words = (
            f"{chosen.name} is not within a factor of {factor:g}: {at}, objective {objective!r}, optimum {reference!r}"
        )
        return f"{words}\nthe instance, as a file: {_json(instance)}"

    def hold(instance: InstanceFile) -> None:
        judge = Judge(record, chosen, method_of(record, "exact"), tell=fail, beyond=beyond)
        judge.judge(instance.as_data())
        if judge.done:
            worst = cast(Judged, judge.worst)
            raise AssertionError(message(finite(worst.ratio), worst.objective, worst.reference.value, instance))

    if instances is not None and not isinstance(instances, SearchStrategy):
        for instance in instances:
            hold(instance)
        return
    examples = max(1, round(STRATEGY * budget)) if instances is None else budget
    hold_examples(
        CASES[record.name].instances() if instances is None else instances, hold, examples, seed, Phase.generate
    )
    if instances is None and record.space is not None:
        spaces: tuple[dict[str, Value], ...] = ({}, *WIDEST.get(record.name, ()))
        for options in spaces:
            each = max(1, (budget - examples) // len(spaces))
            space = space_of(record.name, **options)
            try:
                found = find_worst(
                    record.name, chosen, budget=each, seed=seed, tell=fail, space=space, share=0.0, beyond=beyond
                )
            except UsageError as error:
                if error.where == ("budget",):  # no answer in this space, or only instances without a ratio
                    continue
                raise
            ratio = found.ratio
            assert ratio is not None and ratio <= beyond, message(
                ratio, found.objective, found.reference, found.instance
            )


def _json(instance: InstanceFile) -> str:
    return json.dumps(instance.as_data())
