"""Servers that may change places: one job uses them in order, in the models; the hint follows."""

from dlsched.srpt_mapping.blocks import blocks_of
from dlsched.srpt_mapping.formulations.intervals import build_intervals
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing import layouts, twins, without_twins
from dlsched.srpt_mapping.solution import Schedule, Share


def made(begun: list[dict[str, object]] | None = None) -> Instance:
    """Three servers of two GPUs and one of one; a takes one GPU, b two."""

    def stages(gpus: int) -> list[dict[str, object]]:
        return [{"replicas": gpus, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}]

    return Instance(
        name="made",
        intra_bandwidth_bytes_per_s=8.0,
        nic_bandwidth_bytes_per_s=2.0,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate((2, 2, 1, 2))],
        jobs=[
            {"id": "a", "release_s": 0.0, "iterations": 2.0, "stages": stages(1), "begun": begun},
            {"id": "b", "release_s": 0.0, "iterations": 4.0, "stages": stages(2)},
        ],
    )


def test_the_freest_job_uses_equal_servers_in_order() -> None:
    """Of 9 layouts of b, 3 are left: 2; 1 and 1; 1 and the small one; where a runs on s1, it is told apart."""
    instance = made()
    assert twins(instance) == [[0, 1, 3], [2]]
    kept = without_twins(instance, layouts(instance))
    assert len(kept[0]) == 4
    assert {layout.usage for layout in kept[1]} == {(2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0)}
    running = made([{"stage": 0, "server": "s1", "replicas": 1}])
    assert twins(running) == [[0, 3], [2]]
    assert {layout.usage for layout in without_twins(running, layouts(running))[1]} == {
        (2, 0, 0, 0),
        (0, 2, 0, 0),
        (1, 1, 0, 0),
        (1, 0, 1, 0),
        (1, 0, 0, 1),
        (0, 1, 1, 0),
    }


def test_the_hint_is_in_that_order() -> None:
    """B on s1 and s3 moves to s0 and s1, and a, beside it on s3, to s1."""
    instance = made()
    held = Schedule({"a": (0.0, [Share(0, "s3", 1)]), "b": (0.0, [Share(0, "s1", 1), Share(0, "s3", 1)])})
    (block,) = blocks_of(instance, layouts(instance), held)
    model = build_intervals(block, 2.0**-20)
    usages = [model.model.modes[job][int(model.start[f"mode_{job}"])][1] for job in range(2)]
    assert usages == [(0, 1, 0, 0), (1, 1, 0, 0)]
