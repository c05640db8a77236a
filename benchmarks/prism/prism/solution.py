"""The decision of prism: the GPU of each model."""

from dataclasses import dataclass

from dlsched.core.files import read_object, read_whole
from dlsched.core.result import FrozenMapping
from prism.instance import Instance


@dataclass(frozen=True, slots=True)
class Placement:
    """Number of the GPU, from 0, by the id of the model."""

    gpus: FrozenMapping[str, int]

    def as_data(self) -> dict[str, object]:
        """Return the decision as result files hold it."""
        return {"gpus": dict(self.gpus)}


def read_solution(data: object, instance: Instance) -> Placement:
    """Read the ``solution`` of a result file."""
    gpus = read_object(data, {"gpus"}, ("solution",)).get("gpus")
    named = read_object(gpus, {model.id for model in instance.jobs}, ("solution", "gpus"))
    return Placement(FrozenMapping({name: read_whole(named, name, ("solution", "gpus")) for name in named}))


def placement_of(instance: Instance, groups: list[list[int]]) -> Placement:
    """Make a placement of the models of each GPU, given by position; what occurs twice stays where it came first."""
    first = {index: gpu for gpu in reversed(range(len(groups))) for index in groups[gpu]}
    return Placement(FrozenMapping({model.id: first[index] for index, model in enumerate(instance.jobs)}))
