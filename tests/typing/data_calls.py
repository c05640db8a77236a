"""Instances from the user's data, as type checkers see them."""

from typing import assert_type

from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping
from dlsched.cluster import SpeedLaw
from dlsched.cluster.speeds import SpeedTable

job = ring_allocation.Job(id="a", epochs=3, epoch_time_s={1: 9.0})
law = ring_allocation.Job(id="b", epochs=3, speed_law={"theta": [1e-3, 0.0, 0.0, 0.1], "samples": 10, "model_bytes": 0})
same = ring_allocation.Job(id="b", epochs=3, speed_law=SpeedLaw(theta=[1e-3, 0.0, 0.0, 0.1], samples=10, model_bytes=0))
rows: list[dict[str, object]] = [{"id": "a", "epochs": 3, "epoch_time_s": {"1": 9.0}}]
ring_allocation.Instance(name="x", gpus=3, jobs=[job, law], source="me", known={"optimum": 3.0, "proof": "me"})
ring_allocation.Instance(name="x", gpus=3, jobs=(job, law))
ring_allocation.Instance(name="x", gpus=3, jobs=rows)
instance = ring_allocation.Instance(name="x", gpus=3, jobs=[{"id": "a", "epochs": 3, "epoch_time_s": {1: 9.0}}, law])
assert_type(instance.jobs, tuple[ring_allocation.Job, ...])
assert_type(instance.jobs[0].epoch_time_s, SpeedTable | None)
assert_type(instance.name, str)

elastic_stream.Instance(
    name="x",
    units=3,
    jobs=[
        elastic_stream.Job(id="a", epochs=1, arrival_s=0, epoch_time_s={1: 9.0}, early_stop=[{"fraction": 0.5}]),
        {"id": "b", "epochs": 1, "arrival_s": 0, "epoch_time_s": {1: 9.0}},
    ],
)
placement = matching_placement.Instance(
    name="x",
    workers=[{"id": "w", "type": "t", "bandwidth_bytes_per_s": 1e9}],
    jobs=[matching_placement.Job(id="a", iterations=1, batch_samples=1, gradient_bytes=0, samples_per_s={"t": 1.0})],
    objective="max_rho",
)
assert_type(placement.workers, tuple[matching_placement.Worker, ...])
mapping = srpt_mapping.Instance(
    name="x",
    intra_bandwidth_bytes_per_s=8,
    nic_bandwidth_bytes_per_s=2,
    servers=[srpt_mapping.Server(id="s", gpus=4), {"id": "t", "gpus": 2}],
    jobs=[srpt_mapping.Job(id="a", release_s=0, iterations=1, stages=[{"replicas": 1}], begun=[{"stage": 0}])],
)
assert_type(mapping.jobs[0].stages, tuple[srpt_mapping.Stage, ...])
embedding = ring_embedding.Instance(
    name="x",
    slots=2,
    nodes=[ring_embedding.Node(id="s", capacity={"gpu": 4}), {"id": "rack"}],
    links=[ring_embedding.Link(ends=["s", "rack"], bandwidth_bytes_per_s=1e9)],
    jobs=[
        ring_embedding.Job(
            id="a",
            max_workers=2,
            demand={"gpu": 1},
            bandwidth_bytes_per_s=1,
            rate=1,
            utility={"kind": "sqrt", "scale": 1},
        )
    ],
)
assert_type(embedding.links, tuple[ring_embedding.Link, ...])
async_sgd.Instance(name="x", nodes=3, jobs=[{"id": "a"}])


class Columns(dict[str, list[object]]):
    """A frame of one's own: columns by name."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self)


framed = ring_allocation.Instance.from_frame(Columns(id=["a"], epochs=[3.0], epoch_time_s=[{1: 9.0}]), gpus=3)
assert_type(framed, ring_allocation.Instance)

# What is refused: mypy calls a comment of these unused where it finds nothing wrong.
ring_allocation.Instance(name="x", gpus="3", jobs=[])  # type: ignore[arg-type]
ring_allocation.Instance(name="x", jobs=[])  # type: ignore[call-arg]
ring_allocation.Instance(name="x", gpus=3, jobs=[3])  # type: ignore[list-item]
ring_allocation.Job(id="a", epoch=3)  # type: ignore[call-arg]
