"""Calls of the package: what mypy takes their answers for, in ``--strict`` mode."""

from typing import assert_type

import dlsched
from dlsched import elastic_stream, ring_allocation, srpt_mapping
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Result, Solution


def own(instance: ring_allocation.Instance) -> dict[str, object]:
    """A function of the user's own, which answers with plain data."""
    return {"gpus": {job.id: 1 for job in instance.jobs}}


class First:
    """A policy of the user's own."""

    def decide(self, view: elastic_stream.View) -> dict[str, int]:
        """Give nothing."""
        del view
        return {}


def calls(some: InstanceFile) -> None:
    """Call everything."""
    rings = dlsched.generate("ring_allocation", preset="mixed", jobs=3, seed=1)
    assert_type(rings, ring_allocation.Instance)
    result = dlsched.solve(rings, method=own, time_limit=5.0, verbose=True)
    assert_type(result, Result[ring_allocation.Allocation])
    if result.solution is not None:
        assert_type(result.solution.gpus["j0"], int)
    assert_type(dlsched.solve(elastic_stream.example(), method=First), Result[elastic_stream.Stream])
    assert_type(dlsched.solve(elastic_stream.example(), method=First()), Result[elastic_stream.Stream])
    assert_type(dlsched.bound(srpt_mapping.example(), limits=dlsched.Limits(nodes=3)), Result[srpt_mapping.Schedule])
    assert_type(dlsched.solve(some, method="exact"), Result[Solution])
    assert_type(dlsched.check(rings, {"gpus": {"j0": 1}}), list[dlsched.Violation])
    assert_type(dlsched.check(rings, result), list[dlsched.Violation])
    found = dlsched.compare([rings, "more.json"], ["exact", own], time_limit=10.0, solutions=result)
    assert_type(found, dlsched.Comparison)
    assert_type(found.rows[0].ratio, float | None)
    dlsched.compare(rings, own)
    dlsched.find_worst("ring_allocation", own, budget=10, verbose=True)
    assert_type(dlsched.whatif("sacct.txt", "slurm", gpus=[16, 32]).sentences, list[str])
