"""The instance of prism: models that are served, each whole on one of identical GPUs.

==================  ==================================================================================
code                mathematics
==================  ==================================================================================
``gpus``            G
``memory_gb``       C, memory of a GPU, GB
``jobs``            the models, 1 .. n
``size_gb``         s_i, GB
``requests_per_s``  r_i
``slo``             l_i, the target of its latency; r_i / l_i = w_i is its load
==================  ==================================================================================
"""

from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Annotated, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from dlsched.core.instance import Count, InstanceFile, Name, require_unique_ids
from dlsched.core.part import Part

Size = Annotated[float, Field(ge=1e-50, le=1e50)]  # so that no quotient of sums leaves the floats


class Model(Part):
    """A model: its memory in GB, its requests per second, and the target of its latency."""

    id: Name
    size_gb: Size
    requests_per_s: Size
    slo: Size

    @property
    def load(self) -> Fraction:
        """Requests per second over the target, exactly."""
        return Fraction(self.requests_per_s) / Fraction(self.slo)


class Whole(NamedTuple):
    """Loads, sizes and memory as integers: a GPU's pressure is ``unit`` times its load over its free memory."""

    loads: tuple[int, ...]
    sizes: tuple[int, ...]
    memory: int
    unit: Fraction


class Instance(InstanceFile):
    """GPUs, their memory, and the models."""

    family: ClassVar[str] = "prism"

    gpus: Count
    memory_gb: Size
    jobs: Annotated[tuple[Model, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([model.id for model in self.jobs], "jobs")
        return self

    @cached_property
    def whole(self) -> Whole:
        """The instance in integers, for algorithms."""
        loads = [model.load for model in self.jobs]
        *sizes, memory = [Fraction(size) for size in (*(model.size_gb for model in self.jobs), self.memory_gb)]
        per_load, per_gb = lcm(*(w.denominator for w in loads)), lcm(*(s.denominator for s in (*sizes, memory)))
        integers = tuple(int(w * per_load) for w in loads), tuple(int(s * per_gb) for s in sizes)
        return Whole(*integers, int(memory * per_gb), Fraction(per_gb, per_load))
