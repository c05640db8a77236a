"""``generate``: a random instance of any family, from a seed."""

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from dlsched.catalogue.declaration import Value
from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.part import plain
from dlsched.families import find_family

if TYPE_CHECKING:
    from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping

    Given: TypeAlias = Any
    """What the implementation takes by name."""


@overload
def generate(family: Literal["ring_allocation"], **given: "Given") -> "ring_allocation.Instance": ...
@overload
def generate(family: Literal["elastic_stream"], **given: "Given") -> "elastic_stream.Instance": ...
@overload
def generate(family: Literal["matching_placement"], **given: "Given") -> "matching_placement.Instance": ...
@overload
def generate(family: Literal["srpt_mapping"], **given: "Given") -> "srpt_mapping.Instance": ...
@overload
def generate(family: Literal["ring_embedding"], **given: "Given") -> "ring_embedding.Instance": ...
@overload
def generate(family: Literal["async_sgd"], **given: "Given") -> "async_sgd.Instance": ...
@overload
def generate(family: str, **given: "Given") -> InstanceFile: ...


def generate(
    family: str,
    *,
    preset: str | None = None,
    jobs: int | None = None,
    gpus: int | None = None,
    max_gpus: int | None = None,
    seed: int = 0,
    **options: Value | None,
) -> InstanceFile:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    family
        Name of a family.
    preset
        What kind of instance; None: the family's first.
    jobs, gpus, max_gpus
        Numbers of jobs and of GPUs (units, workers), and the largest count for a job; None: the preset's.
    seed
        Of every draw.
    **options
        The family's own options, such as ``load``; None: as if not given.

    Raises
    ------
    UsageError
        The family has no such preset or option, or a value is out of range.

    >>> generate("ring_allocation", jobs=3, gpus=8, seed=1).jobs[0].id
    'j0'
    """
    record = find_family(family)
    preset = preset or next(iter(record.presets))
    if preset not in record.presets:
        raise UsageError(where="preset", found=repr(preset), allowed=", ".join(record.presets))
    given = {"jobs": jobs, "gpus": gpus, "max_gpus": max_gpus, **options}
    chosen = {name: plain(value) for name, value in given.items() if value is not None}
    takes = inspect.signature(record.generate).parameters
    for name, value in chosen.items():
        if name not in takes:
            raise UsageError(where=name, found=value, allowed=f"no such option for {family}")
    instance: InstanceFile = record.generate(preset=preset, seed=plain(seed), **chosen)
    return instance
