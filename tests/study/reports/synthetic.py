"""Rows of a study as they might be, drawn from a seed; and the hostile names that files can hold."""

import json
import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.core.verdict import ReferenceKind
from dlsched.study.figures.sentence import sentence
from dlsched.study.figures.summary import summarise
from dlsched.study.reports.content import Content
from dlsched.study.rows import Row

HOSTILE = (
    *("<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "\x1b[31mred\x1b[0m"),
    *("\"quotes\" & 'ticks' &lt;b&gt;", "<b>bold</b><br>%{x} $\\alpha$", "x" * 149 + "/" + "y" * 150),
    *("\u202egnp.exe\u200f mark", "{{7*7}}{% raw %}", "=1+1"),
)
METHODS = {"exact": 0.0, "doubling": 0.04, "rounding": 0.02, "greedy": 0.12, "first-fit": 0.25}
"""Mean excess over the reference of each."""


def rows(
    family: str = "ring_allocation",
    preset: str = "mixed",
    *,
    instances: int = 60,
    methods: Mapping[str, float] = METHODS,
    sizes: Sequence[int] = (10, 20, 40),
    kind: ReferenceKind | None = None,
    failing: float = 0.02,
    names: Sequence[str] = (),
    seed: int = 1,
) -> list[Row]:
    """Rows of one family and preset.

    ``kind``: what every reference is; None: bounds on a third of the largest instances, else optima. ``failing``: share of
    cells without an answer. ``names``: of the first instances.
    """
    generator = np.random.default_rng(seed)
    found = []
    for index in range(instances):
        jobs = int(sizes[index % len(sizes)])
        name = names[index] if index < len(names) else f"{preset or 'file'}-{jobs}x{4 * jobs}-{index}"
        optimum = float(np.round(generator.uniform(50, 100) * jobs, 3))
        loose = kind or ("bound" if jobs == max(sizes) and generator.random() < 1 / 3 else "optimum")
        for number, (method, excess) in enumerate(methods.items()):
            slow = number == 0
            time_s = float(1e-4 * jobs ** (1 + 0.5 * slow) * generator.lognormal(0, 0.3) * (50 if slow else 1))
            key = f"{family}-{preset}-{index}-{method}"
            row = Row(key, name, family, "generate", preset, jobs, 4 * jobs, index, method, "")
            if generator.random() < failing:
                ends = ("timeout", "no answer within 60 s"), ("error", "ValueError: <b>jobs</b>: found none")
                status, message = ends[int(generator.integers(2))]
                found.append(changed(row, status=status, message=message, reference=optimum, reference_kind=loose))
                continue
            ratio = 1.0 + float(generator.exponential(excess) if excess else 0.0) + (0.01 if loose == "bound" else 0.0)
            status = "optimal" if excess == 0 and loose == "optimum" else "feasible"
            bound = optimum if excess == 0 else None
            rated = {"ratio": ratio, "gap": 1 - 1 / ratio, "reference": optimum, "reference_kind": loose}
            used = {"time_s": time_s, "cpu_s": time_s, "memory_mib": 100.0}
            found.append(changed(row, status=status, objective=optimum * ratio, bound=bound, **rated, **used))
    return found


def changed(row: Row, **changes: object) -> Row:
    """The row with other values in some fields."""
    return Row(**{**{name: getattr(row, name) for name in Row.__dataclass_fields__}, **changes})  # type: ignore[arg-type]


def hostile() -> list[Row]:
    """Instances and methods with hostile names."""
    excess = dict(zip(HOSTILE, (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5), strict=True))
    return rows(instances=30, names=HOSTILE, methods=excess, failing=0.05)


def evidence(row: Row) -> tuple[str, str]:
    """An instance and a command that hold the name."""
    instance = json.dumps({"format": "dlsched/ring_allocation/1", "name": row.instance, "jobs": [1, 2, 3]}, indent=1)
    return instance + "\n", f"dlsched solve {row.key}.json --method {shlex.quote(row.method)}"


def content(found: Sequence[Row], name: str = "doubling") -> Content:
    """A study of these rows."""
    groups = summarise(found, limit_s=60.0)
    return Content(
        name=name,
        sentence=sentence(groups),
        groups=groups,
        evidence=evidence,
        plan=f'format = "dlsched/study/1"\nname = {json.dumps(name)}\nseed = 1\n\n[limits]\ntime_s = 60\n',
        limits={"time": "60 s", "memory": "4 GiB"},
        environment={
            "dlsched": "0.9.0", "Python": "3.11.2", "NumPy": "2.4.6", "SciPy": "1.17.0",
            "Machine": "2 cores, AMD EPYC, 8 GiB, Linux 6.1",
        },
    )  # fmt: skip
