"""What the study ``trend`` found: doubling against the fixed allocations, and policies that coincide."""

from collections.abc import Hashable, Mapping, Sequence

from cases import alike, cases, compared, interval, shown

from dlsched.core.arrays import FloatArray
from dlsched.families import FAMILIES
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

EARLIER = {
    "doubling": (6.6, 2.3, 1.4),
    "fixed": (10.8, 2.9, 1.3),
    "fixed, 4 units": (8.0, 2.4, 2.1),
    "fixed, 2 units": (7.6, 3.7, 3.6),
    "fixed, 1 unit": (8.1, 6.1, 6.1),
}
"""Mean hours of an earlier simulation of ours at gaps of 250, 500 and 1000 s, rounded."""


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    hours = cases([row for row in rows if row.objective is not None], lambda row: (row.objective or 0.0) / 3600)
    bounds = [each["bound"] for each in cases(rows, lambda row: (row.reference or 0.0) / 3600).values()]
    policies, verdicts, apart = list(next(iter(hours.values()))), [], []
    for index, (case, each) in enumerate(hours.items()):
        best = min((name for name in EARLIER if name != "doubling"), key=lambda name, of=each: of[name].mean())
        verdicts.append(
            f"- {case}: the best fixed allocation is `{best}`; less doubling it takes "
            f"{shown(each[best] - each['doubling'], '+')} h: doubling is {compared(each['doubling'], each[best])}."
        )
        apart += [abs(round(interval(each[name])[0], 1) - EARLIER[name][index]) for name in EARLIER]
    trend = [
        [name, *(f"{shown(each[name])} ({old})" for each, old in zip(hours.values(), EARLIER[name], strict=True))]
        for name in EARLIER
    ]
    table = [
        [name, *(x for each in hours.values() for x in (shown(each[name]), shown(each[name] - each["doubling"], "+")))]
        for name in policies
    ]
    table.append(["bound", *(text for each in bounds for text in (shown(each), "-"))])
    return {
        "trend": markdown_table(["policy", *hours], trend),
        "verdicts": "\n".join(verdicts),
        "earlier": len(apart),
        "agree": sum(each < 0.05 for each in apart),
        "apart": max(apart),
        "hindsight": "\n".join(
            _hindsight(case, each, bound) for (case, each), bound in zip(hours.items(), bounds, strict=True)
        ),
        "policies": markdown_table(["policy", *(x for case in hours for x in (f"{case}, h", "less doubling"))], table),
        "alike": "\n".join(f"- {', '.join(names)}" for names in alike(list(hours.values())) if len(names) > 1),
        "aliases": ", ".join(f"{alias} is {name}" for alias, name in FAMILIES["elastic_stream"].aliases.items()),
    }


def _hindsight(case: Hashable, hours: Mapping[str, FloatArray], bound: FloatArray) -> str:
    """How far doubling and the policy with the least mean ratio are from the bound."""
    ratios = {name: each / bound for name, each in hours.items()}
    best = min(ratios, key=lambda name: ratios[name].mean())
    return (
        f"- {case}: doubling {shown(ratios['doubling'])} times, the best policy, `{best}`, {shown(ratios[best])} times."
    )
