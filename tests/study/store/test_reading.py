"""What rows say that are read from a store."""

from pathlib import Path

from dlsched import ring_allocation
from dlsched.core.files import json_text
from dlsched.study.cells.cell import cells_of
from dlsched.study.cells.outcome import Outcome
from dlsched.study.plans.sources import recipes
from dlsched.study.store import Store
from dlsched.study.study import Study
from tests.study.small import small

OWN = """
from dlsched import ring_allocation
def draw(*, law, units, seed):
    return ring_allocation.generate(jobs=2, gpus=units, seed=seed)
"""


def test_rows_know_what_their_instance_was_made_with(tmp_path: Path) -> None:
    """By name, whatever the instance is called: of the generator, of a function, of a search; nothing of a file."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "two.json").write_text(json_text(ring_allocation.example().as_data()), encoding="utf-8")
    drawn = {"law": "convex", "units": 8, "seed": 3}
    generated = {"preset": "mixed", "jobs": 4, "gpus": 24, "max_gpus": 64, "seed": 5}  # the default too
    searched = {"jobs": 2, "budget": 20, "seed": 1}
    of_family = {"family": "ring_allocation"}
    plan = small(
        tmp_path,
        instances=[
            of_family
            | {key: value for key, value in generated.items() if key not in ("seed", "max_gpus")}
            | {"seeds": [5]},
            of_family | {"python": "own.py:draw", "law": "convex", "units": 8, "seeds": [3]},
            of_family | {"worst": "doubling", "jobs": 2, "budget": 20, "seeds": [1]},
            {"files": "two.json"},
        ],
        methods=[{"name": "doubling"}],
    )
    cells = list(cells_of(plan, recipes(plan)))
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells)
        store.put([Outcome(cell.key, "error") for cell in cells])
    with Study(tmp_path / "s") as study:
        assert [dict(row.arguments) for row in study.rows()] == [generated, drawn, searched, {}]
        assert "arguments" not in study.rows()[0].as_data()
