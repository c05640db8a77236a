"""The instance of async_sgd: jobs of asynchronous SGD with parameter servers, which share the nodes of a cluster.

===========================  ==================================================================================
code                         mathematics
===========================  ==================================================================================
``nodes``                    N, nodes that can be workers; parameter servers use none of them
``jobs``                     1 .. J
``batch_examples``           b_j
``parameter_bytes``          S_j
``bandwidth_bytes_per_s``    B_j
``compute_s``                c_j
``update_s``                 u_j
``shards``                   P_j
``batches``                  L_j / b_j = epochs x dataset_examples / batch_examples, mini-batches left
===========================  ==================================================================================
"""

import math
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, Unpack, cast

from pydantic import Field, model_validator

from dlsched.core.instance import Count, Head, InstanceFile, Name, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.part import Agree, Data, Part
from dlsched.core.ranges import LARGEST_COUNT, MODERATE, Range, Ranges

if TYPE_CHECKING:
    from dlsched.core.arrays import BoolArray, FloatArray, IntArray
    from dlsched.queueing.network import Networks

RANGES: Ranges = {
    "jobs[].epochs": Range(usual=(1, 100), ties=(1, 2, 10), edges=(1, 0, 0.5, 3, 1000)),
    "jobs[].dataset_examples": Range(usual=(1e4, 1.3e6), searched=(1.0, 1000.0), ties=(1024, 100, 1000, 50000)),
    "jobs[].batch_examples": Range(choices=(16, 32, 64, 128, 256), searched=(1.0, 1.0), ties=(128, 1, 32, 100)),
    "jobs[].parameter_bytes": Range(
        usual=(1e6, 1e9), searched=(0.0, 1e10), ties=(1e8, 2e7, 0), edges=(1e8, 1, 1e5, 4e7, 1.02e8, 3e9)
    ),
    "jobs[].bandwidth_bytes_per_s": Range(usual=(1e8, 1e10), searched=(1e9, 1e9), ties=(1e9, 1.25e9, 1e8, 2.0**30)),
    "jobs[].compute_s": Range(
        usual=(0.02, 2), searched=(0.1, 10.0), ties=(0.25, 1, 0.5), edges=(1e-4, 0.01, 0.125, 2, 100)
    ),
    "jobs[].update_s": Range(usual=(1e-4, 0.1), searched=(0.0, 10.0), ties=(0, 0.01, 0.25), edges=(1e-5, 0.02, 0.5, 4)),
    "jobs[].shards": Range(usual=(1, 4), ties=(1, 1, 2, 3, 7), nasty=(1, 1, 2, 3, 7)),
    "jobs[].max_nodes": Range(tested=(1, 4), edges=(1, 6, 100, LARGEST_COUNT)),
}

_SHORTEST_S, _LONGEST_S = MODERATE  # of a cycle; beyond these floats lose their precision in the recursion
_FEWEST, _MOST = 1e-150, 1e150  # batches, other than none
_WORK = ("epochs", "dataset_examples", "batch_examples")
_COLUMNS = ("compute_s", "parameter_bytes", "bandwidth_bytes_per_s", "update_s", "shards")


def _agree(columns: Mapping[str, Sequence[object]]) -> bool:
    """Whether ``_cycle_of_a_usable_length`` accepts all jobs; False also where only fractions decide."""
    import numpy as np

    numbers = {name: np.array(columns[name], dtype=np.float64) for name in (*_COLUMNS, *_WORK)}
    compute_s, moved, bandwidth, update_s, _, epochs, examples, batch = numbers.values()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        cycle_s, near = compute_s + 2 * (moved / bandwidth) + update_s, epochs / batch * examples
    plain = (epochs == 0) | ((near > _FEWEST * 2) & (near < _MOST / 2))
    return bool((plain & (cycle_s >= _SHORTEST_S) & (cycle_s <= _LONGEST_S)).all())


class Job(Part):
    """A job of asynchronous SGD: one or more parameter servers of its own, and as many workers as it has nodes.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    epochs
        Epochs left, >= 0.
    dataset_examples, batch_examples
        Examples of an epoch, and of one mini-batch of one worker; > 0.
    parameter_bytes
        Bytes that a worker pulls and pushes for every mini-batch, >= 0; split evenly over the shards.
    bandwidth_bytes_per_s
        Of each parameter server, in each direction or in both together; > 0.
    compute_s, update_s
        Seconds of one mini-batch on a worker, > 0, and of its update on the servers, >= 0, split evenly over the shards.
    shards
        Parameter servers, >= 1.
    duplex
        ``full`` or ``half``.
    max_nodes
        Most workers, >= 1; None: all nodes.
    """

    agree: ClassVar[Agree | None] = staticmethod(_agree)

    id: Name
    epochs: NonNegative
    dataset_examples: Positive
    batch_examples: Positive
    parameter_bytes: NonNegative
    bandwidth_bytes_per_s: Positive
    compute_s: Positive
    update_s: NonNegative = 0.0
    shards: Count = 1
    duplex: Literal["full", "half"] = "full"
    max_nodes: Count | None = None

    @model_validator(mode="after")
    def _cycle_of_a_usable_length(self) -> Self:
        if not _SHORTEST_S <= self.cycle_s <= _LONGEST_S:
            found = f"a cycle of one worker of {self.cycle_s!r} s"
            raise Refused(found, "times that add up to between 1e-100 and 1e100 s")
        near = self.epochs / self.batch_examples * self.dataset_examples  # but for rounding, or beyond all floats
        plain = _FEWEST * 2 < near < _MOST / 2
        if self.epochs and not plain and not Fraction(_FEWEST) <= self.exact_batches <= Fraction(_MOST):
            allowed = "epochs x dataset_examples / batch_examples of 0, or between 1e-150 and 1e150"
            raise Refused("too many or too few batches", allowed)
        return self

    @property
    def transfer_s(self) -> float:
        """Seconds in which one worker alone pulls, or pushes, all parameters, S / B."""
        return self.parameter_bytes / self.bandwidth_bytes_per_s

    @property
    def cycle_s(self) -> float:
        """Seconds of one mini-batch of a worker that is alone: pull, compute, push, update."""
        return self.compute_s + 2 * self.transfer_s + self.update_s

    @property
    def exact_batches(self) -> Fraction:
        """Mini-batches left, L / b."""
        return Fraction(self.epochs) * Fraction(self.dataset_examples) / Fraction(self.batch_examples)

    @cached_property
    def batches(self) -> float:
        """Mini-batches left, L / b, rounded once."""
        return float(self.exact_batches)


class Instance(InstanceFile):
    """Jobs and the nodes they share.

    >>> job = Job(id="a", epochs=1, dataset_examples=100, batch_examples=10, parameter_bytes=8e6,
    ...           bandwidth_bytes_per_s=1e8, compute_s=0.25, update_s=0.01)
    >>> Instance(name="one", nodes=4, jobs=[job]).counts(0)
    range(1, 5)
    """

    family: ClassVar[str] = "async_sgd"
    default_count: ClassVar[tuple[str, str]] = ("max_nodes", "nodes")

    nodes: Count
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    if TYPE_CHECKING:

        def __init__(self, *, nodes: int, jobs: Sequence[Job | Data], **head: Unpack[Head]) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.require_consistent()
        return self

    def require_consistent(self) -> None:
        """Refuse ids that occur twice, and examples a second that add up to no finite number."""
        ids = self.job_values("id")
        require_unique_ids(ids, "jobs")
        # figures of a solution add up examples a second of all jobs; only near the largest float does each need a look
        most_per_s = max(self.job_values("batch_examples")) / min(self.job_values("compute_s"))
        if most_per_s * self.nodes * len(ids) < sys.float_info.max / 2:
            return
        fastest = 0.0
        for index, job in enumerate(self.jobs):
            fastest += job.batch_examples / job.compute_s * self.nodes
            if not math.isfinite(fastest):
                allowed = "examples a second, batch_examples / compute_s on all nodes, that add up to a finite number"
                raise Refused("speeds that overflow", allowed, "jobs", index)

    def job(self, index: int) -> Job:
        """The job at that position. If the jobs are in columns, it alone is made."""
        columns = self.job_columns
        return self.jobs[index] if columns is None else cast(Job, columns[index : index + 1].parts()[0])

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of nodes of the job at that position, ascending; they may exceed the nodes there are."""
        return range(1, (self.jobs[job].max_nodes or self.nodes) + 1)

    def most(self, job: int) -> int:
        """Largest count of the job that fits beside one node for every other job (1 if not even that does)."""
        return min(self.counts(job)[-1], max(1, self.nodes - len(self.jobs) + 1))

    @cached_property
    def batches(self) -> "FloatArray":
        """Mini-batches left of every job, rounded once; shape (J,)."""
        import numpy as np

        from dlsched.core.elementary import rounded, two_product

        epochs, examples, batch = map(self.column, _WORK)
        # the quotient and what is missing of it, unless these lose bits
        product, rest = two_product(epochs, examples)
        first = product / batch
        back, missing = two_product(first, batch)
        found, sure = rounded((first, (product - back - missing + rest) / batch))
        sizes = np.stack((epochs, examples, batch, found))
        plain = ((sizes > _FEWEST) & (sizes < _MOST)).all(axis=0)
        for index in np.flatnonzero(~(plain & sure)).tolist():
            found[index] = self.job(index).batches
        return np.asarray(found)

    def column(self, field: str) -> "FloatArray":
        """A number of every job, made when first asked for; shape (J,)."""
        return self._columns[field]

    @cached_property
    def _columns(self) -> "dict[str, FloatArray]":
        import numpy as np

        return {name: np.array(self.job_values(name), dtype=np.float64) for name in (*_COLUMNS, *_WORK)}

    @cached_property
    def most_nodes(self) -> "IntArray":
        """Largest allowed count of every job; shape (J,)."""
        import numpy as np

        counts = [most or self.nodes for most in self.job_values("max_nodes")]
        return np.array(counts, dtype=np.int64)

    @cached_property
    def most_fitting(self) -> "IntArray":
        """``most`` of every job; shape (J,)."""
        return self.most_nodes.clip(max=max(1, self.nodes - len(self.most_nodes) + 1))

    @cached_property
    def judged(self) -> "dict[str, tuple[object, IntArray | FloatArray | None]]":
        """By function of the checker: the nodes of the allocation that it saw last, and what it computed of them."""
        return {}

    @cached_property
    def half_duplex(self) -> "BoolArray":
        """Whether every job's links carry one direction at a time; shape (J,)."""
        import numpy as np

        return np.array([duplex == "half" for duplex in self.job_values("duplex")])

    @cached_property
    def networks(self) -> "Networks":
        """The networks of the jobs as arrays, in their order."""
        from dlsched.queueing.network import from_columns

        compute_s, moved_bytes, bandwidth, update_s, shards = map(self.column, _COLUMNS)
        return from_columns(compute_s, moved_bytes / bandwidth, update_s, shards, self.half_duplex)

    @property
    def capacity(self) -> int:
        """What the jobs share, N."""
        return self.nodes
