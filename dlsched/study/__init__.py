"""Studies: run many methods on many instances, check every answer, keep the rows in a store, report figures.

>>> from dlsched import study
>>> plan = study.make_plan(
...     name="two methods",
...     instances=[{"family": "ring_allocation", "jobs": [4, 8], "seeds": "0:2"}],
...     methods=[{"name": "exact"}, {"name": "doubling"}],
... )
>>> study.count(plan)
(4, 8)

``study.run(plan, "two-methods.study.sqlite")`` runs it, and ``study.open`` reads what a store holds.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlsched.study.checking import check
    from dlsched.study.figures.sentence import sentence
    from dlsched.study.figures.summary import summarise
    from dlsched.study.leader import run
    from dlsched.study.plans.plan import CellLimits, Plan
    from dlsched.study.plans.plan_file import make_plan, read_plan
    from dlsched.study.plans.sources import count
    from dlsched.study.reports.export import export
    from dlsched.study.rows import Row
    from dlsched.study.study import Study, open, report

__all__ = [
    "CellLimits",
    "Plan",
    "Row",
    "Study",
    "check",
    "count",
    "export",
    "make_plan",
    "open",
    "read_plan",
    "report",
    "run",
    "sentence",
    "summarise",
]

_HOMES = {
    "reports.export": "export",
    "checking": "check",
    "leader": "run",
    "plans.plan": "CellLimits Plan",
    "plans.plan_file": "make_plan read_plan",
    "plans.sources": "count",
    "rows": "Row",
    "study": "Study open report",
    "figures.sentence": "sentence",
    "figures.summary": "summarise",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Import a name when it is first used: processes that run cells need few of them."""
    if name not in _HOME:
        raise AttributeError(f"module 'dlsched.study' has no attribute {name!r}")
    value = getattr(import_module(f"dlsched.study.{_HOME[name]}"), name)
    globals()[name] = value
    return value
