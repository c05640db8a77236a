"""Plans that tests of studies share."""

from pathlib import Path

from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import plan_from

SMALL = {
    "format": "dlsched/study/1",
    "name": "small",
    "instances": [{"family": "ring_allocation", "preset": "mixed", "jobs": [4, 6], "gpus": 24, "seeds": "0:3"}],
    "methods": [{"name": "exact"}, {"name": "doubling"}, {"name": "equal"}],
}
"""Six instances, 18 cells of a millisecond."""


def small(folder: Path, **changes: object) -> Plan:
    """The small plan, with some of its keys replaced."""
    return plan_from({**SMALL, **changes}, folder)


def rows_of(study: object, *dropped: str) -> list[dict[str, object]]:
    """Rows of an open study without what differs from run to run."""
    left_out = {"time_s", "cpu_s", "memory_mib", *dropped}
    return [{name: value for name, value in row.as_data().items() if name not in left_out} for row in study.rows()]  # type: ignore[attr-defined]


def refusals(name: str) -> list[tuple[str, str]]:
    """Texts in a plan, from ``plans/refused_NAME.txt``, each with the beginning of the sentence that refuses it."""
    path = Path(__file__).parent / "plans" / f"refused_{name}.txt"
    pairs = [block.rsplit("=> ", 1) for block in path.read_text(encoding="utf-8").strip().split("\n\n")]
    return [(written.rstrip("\n"), said.removesuffix("…")) for written, said in pairs]
