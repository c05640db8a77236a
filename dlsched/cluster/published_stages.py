"""Published models as chains of blocks, and their cuts into pipeline stages with data-parallel replicas.

The figures are in ``published_stages.json``. Each model names the source of its seconds per iteration, of its number of
parameters and of the work of its blocks; a model that was not measured directly has the derivation of its
figures.

===========================  ========================================================================================
figure                       where it comes from
===========================  ========================================================================================
seconds of an iteration      measured on one V100 by others, or scaled to it; most include the optimiser's step
share of a block in them     operations of forward and backward, counted; for VGG-16 measured layer by layer
parameters of a block        counted from the architecture; the totals are the published ones
bytes between two blocks     counted: the numbers that a block hands on for one sample, 4 bytes each or 2 (FP16)
===========================  ========================================================================================

The seconds of a whole model are measured or scaled; those of a stage are always an estimated share of them.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from dlsched.cluster.published import records_of, require_positive
from dlsched.core.display import Brief


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a model that a pipeline does not cut, such as a transformer layer.

    ``work`` of forward and backward has the unit of the model's ``work_source``; only the block's share of it is used.
    ``output_bytes``: bytes for the next block per sample, 0 for the last. ``arithmetic``: how the numbers were counted.
    """

    name: str
    parameters: int
    work: int
    output_bytes: int
    arithmetic: str


@dataclass(frozen=True, slots=True)
class PublishedStage:
    """A stage of a pipeline, with the fields of a job of srpt_mapping.

    ``compute_s``: forward and backward of one replica in an iteration; ``output_bytes``: from this stage to the next in
    an iteration of the whole job, and as many back, 0 for the last; ``parameter_bytes``: gradients that its replicas
    all-reduce.
    """

    blocks: tuple[str, ...]
    replicas: int
    compute_s: float
    output_bytes: int
    parameter_bytes: int


@dataclass(frozen=True, repr=False)
class PublishedModel(Brief):
    """A measured model, and its chain of blocks in the order of the forward pass.

    ``batch_samples`` and ``iteration_s``: samples and seconds of an iteration of the whole model on one ``gpu``;
    ``iteration_how``: how the seconds were scaled or interpolated, None if measured; ``parameter_bytes_each``: bytes of
    one parameter's gradient. ValueError: figures that are not positive and finite, missing words, two blocks of one
    name, or bytes after the last block.

    >>> model = PublishedModel("M", "image", 8, "V100", 0.6, "invented", None, 4, "invented", "invented",
    ...                        (Block("a", 10, 1, 100, "-"), Block("b", 20, 2, 50, "-"), Block("c", 30, 3, 0, "-")))
    >>> for stage in model.stages(2, 2):
    ...     print(stage.blocks, stage.compute_s, stage.output_bytes, stage.parameter_bytes)
    ('a', 'b') 0.3 800 120
    ('c',) 0.3 0 120
    """

    model: str
    sample: str
    batch_samples: int
    gpu: str
    iteration_s: float
    iteration_source: str
    iteration_how: str | None
    parameter_bytes_each: int
    parameter_source: str
    work_source: str
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError("blocks must name at least one block")
        require_positive(
            batch_samples=[self.batch_samples],
            iteration_s=[self.iteration_s],
            parameter_bytes_each=[self.parameter_bytes_each],
            parameters=[block.parameters for block in self.blocks],
            work=[block.work for block in self.blocks],
            output_bytes=[block.output_bytes for block in self.blocks[:-1]],
        )
        for name in ("model", "sample", "gpu", "iteration_source", "parameter_source", "work_source"):
            if not getattr(self, name):
                raise ValueError(f"{name} must be words, found {getattr(self, name)!r}")
        if self.iteration_how == "":
            raise ValueError("iteration_how must be words, or None for measured seconds")
        if not all(block.name and block.arithmetic for block in self.blocks):
            raise ValueError("name and arithmetic of every block must be words")
        names = [block.name for block in self.blocks]
        if len(set(names)) < len(names):
            raise ValueError(f"name of a block must occur once, found {names}")
        if self.blocks[-1].output_bytes:
            raise ValueError(f"output_bytes of the last block must be 0, found {self.blocks[-1].output_bytes}")

    @property
    def measured(self) -> bool:
        """Whether the seconds of an iteration were measured directly."""
        return self.iteration_how is None

    @property
    def parameters(self) -> int:
        """Number of parameters of the whole model."""
        return sum(block.parameters for block in self.blocks)

    def stages(self, pipeline: int, replicas: int | Sequence[int]) -> tuple[PublishedStage, ...]:
        """Cut the chain into stages so that the slowest is as fast as possible; ties: least sum of squares.

        An iteration processes ``batch_samples`` for each replica of the first stage; the replicas of another stage
        share these samples evenly. ``replicas`` has one number per stage, or is one number for all. ValueError: a
        number of stages not from 1 to that of the blocks, or replicas below 1 or for another number of stages.
        """
        if not 1 <= pipeline <= len(self.blocks):
            raise ValueError(
                f"pipeline must be from 1 to {len(self.blocks)}, the blocks of {self.model}, found {pipeline}"
            )
        counts = tuple(replicas) if isinstance(replicas, Sequence) else (replicas,) * pipeline
        if len(counts) != pipeline:
            raise ValueError(f"replicas must be one number or {pipeline}, one a stage, found {len(counts)}: {counts}")
        if min(counts) < 1:
            raise ValueError(f"replicas must be at least 1, found {counts}")
        work = [block.work for block in self.blocks]
        # Seconds of one unit of work for all samples of an iteration: ``batch_samples`` times the first stage's
        # replicas.
        second = self.iteration_s * counts[0] / sum(work)
        stages = []
        for (first, last), count in zip(pairwise(balanced_cut(work, counts)), counts, strict=True):
            part = self.blocks[first:last]
            stages.append(
                PublishedStage(
                    blocks=tuple(block.name for block in part),
                    replicas=count,
                    compute_s=sum(work[first:last]) * second / count,
                    output_bytes=part[-1].output_bytes * self.batch_samples * counts[0],
                    parameter_bytes=sum(block.parameters for block in part) * self.parameter_bytes_each,
                )
            )
        return tuple(stages)


def balanced_cut(work: Sequence[int], replicas: Sequence[int]) -> tuple[int, ...]:
    """Return 0 and the end of each stage, for a cut with the least largest work per replica; ties: least sum of squares.

    ``work`` by block, in any unit; ``replicas`` by stage, at most as many stages as blocks, since each gets at least
    one.

    >>> balanced_cut([1, 1, 1, 1, 6], [1, 1, 1])
    (0, 2, 4, 5)
    >>> balanced_cut([1, 1, 1, 1, 6], [1, 1, 2])
    (0, 2, 4, 5)
    >>> balanced_cut([2, 2, 2, 2], [3, 1])
    (0, 3, 4)
    """
    ends = [0, *accumulate(work)]

    def each(stage: int, first: int, last: int) -> float:
        return (ends[last] - ends[first]) / replicas[stage]

    # Two passes: the first finds the least maximum, the second the least sum of squares under it.
    largest, _ = _least(each, len(work), len(replicas), max)

    def squares(total: float, one: float) -> float:
        return total + one**2 if one <= largest else math.inf

    return _least(each, len(work), len(replicas), squares)[1]


def _least(
    each: Callable[[int, int, int], float], blocks: int, stages: int, join: Callable[[float, float], float]
) -> tuple[float, tuple[int, ...]]:
    """Return the least value of a cut, and the cut, by a dynamic program over (stage, end)."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, (0,))}
    # Every stage needs a block, so stage s ends after at least s + 1 blocks and leaves one for each later stage.
    for stage in range(stages):
        best = {
            end: min(
                (join(value, each(stage, first, end)), (*cut, end))
                for first, (value, cut) in best.items()
                if first < end
            )
            for end in range(stage + 1, blocks - (stages - stage - 1) + 1)
        }
    return best[blocks]


@functools.cache
def published_stages() -> tuple[PublishedModel, ...]:
    """Return all published models shipped with dlsched, in the order of the file.

    Sources: Oneflow-Inc/DLPerf, NVIDIA's Megatron-LM and DeepLearningExamples, Gavel (Narayanan et al., OSDI 2020),
    PipeDream (Narayanan et al., SOSP 2019) and TensorFlow's benchmarks; each figure names its own.
    """
    models = []
    for record in records_of("published_stages.json"):
        blocks = tuple(block for entry in record.pop("blocks") for block in _blocks(entry))
        models.append(PublishedModel(blocks=blocks, **record))
    return tuple(models)


def _blocks(entry: dict[str, Any]) -> list[Block]:
    """Return the blocks of an entry of the file: one, or ``count`` equal ones numbered from ``first``."""
    name, first, count = entry.pop("name"), entry.pop("first", None), entry.pop("count", 1)
    names = [name] if first is None else [f"{name}.{number}" for number in range(first, first + count)]
    return [Block(name=each, **entry) for each in names]
