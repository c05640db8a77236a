"""Published measurements: training speeds, rates on one GPU, seconds of a training step, and models as chains of blocks.

Every figure names its source, and a figure that was not measured directly has its derivation. In files beside this module:

``published_speeds.json``: training speeds, the numbers behind realistic instances, as the readers of
``dlsched.traces.speedups`` read them. ``source`` also says what was assumed (data set, epoch, batch on one GPU or on all).

``published_rates.json``: rates on one GPU, by GPU type and model, which say which type suits which model. K80, P100 and V100
come from Gavel (OSDI 2020), T4 from AdaptDL (Pollux, OSDI 2021), A100 is scaled.

``published_steps.json``: seconds of one training step of one worker with one GPU, and numbers of parameters, of image
classifiers. Steps come from TensorFlow's benchmarks of May 2017 (P100, K80), from jcjohnson's cnn-benchmarks and soumith's
convnet-benchmarks (Titan X) and from Gavel (V100). Numbers of parameters are those with 1,000 classes; TensorFlow's
benchmarks have 1,001.

``published_stages.json``: models as chains of blocks, to be cut into pipeline stages with data-parallel replicas.

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
import importlib.resources
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlsched.core.display import Brief

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def records_of(file: str) -> Any:
    """Return the records of a file of published figures, a list of objects."""
    return json.loads((importlib.resources.files("dlsched.cluster") / file).read_text(encoding="utf-8"))


def _require_words(record: "DataclassInstance") -> None:
    """Refuse fields that are empty words, by their names."""
    for field in fields(record):
        if getattr(record, field.name) == "":
            raise ValueError(f"{field.name} must be words, found ''")


def require_positive(**figures: Sequence[float]) -> None:
    """Refuse figures that are not positive and finite, by their names."""
    for name, numbers in figures.items():
        if not all(number > 0 and math.isfinite(number) for number in numbers):
            raise ValueError(f"{name} must be positive and finite, found {numbers}")


@dataclass(frozen=True)
class PublishedSpeed:
    """Seconds per epoch of one training job at the GPU counts at which it was measured.

    ``gpu`` and ``dataset`` are None if the source does not name them; ``source`` (origin, licence, assumptions) says
    whether ``batch_samples`` is per GPU or in all. ``counts`` increase strictly from any number >= 1; the times are as
    published, in general neither monotone nor convex. ValueError: counts that do not increase, or figures that are not
    positive, finite and one for each count.

    >>> speed = PublishedSpeed("ResNet-50", "V100", 64, "ImageNet", 1281167, (1, 2), (4555.0, 2527.0), "an example")
    >>> speed.epoch_time_s[speed.counts.index(2)]
    2527.0
    """

    model: str
    gpu: str | None
    batch_samples: int
    dataset: str | None
    epoch_samples: int
    counts: tuple[int, ...]
    epoch_time_s: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if not self.counts or any(low >= high for low, high in zip((0, *self.counts), self.counts, strict=False)):
            raise ValueError(f"counts must be positive and strictly increasing, found {self.counts}")
        if len(self.epoch_time_s) != len(self.counts):
            raise ValueError(f"epoch_time_s must hold {len(self.counts)} figures, found {len(self.epoch_time_s)}")
        samples = {"batch_samples": (self.batch_samples,), "epoch_samples": (self.epoch_samples,)}
        require_positive(epoch_time_s=self.epoch_time_s, **samples)

    def times_up_to(self, gpus: int) -> dict[int, float]:
        """Seconds per epoch at the counts of at most ``gpus``."""
        return {count: time for count, time in zip(self.counts, self.epoch_time_s, strict=True) if count <= gpus}


@functools.cache
def published_speeds() -> tuple[PublishedSpeed, ...]:
    """Return all published speeds shipped with dlsched, in the order of the file."""
    speeds = []
    for record in records_of("published_speeds.json"):
        by_count = record.pop("epoch_time_s")
        counts, times = tuple(map(int, by_count)), tuple(map(float, by_count.values()))
        speeds.append(PublishedSpeed(counts=counts, epoch_time_s=times, **record))
    return tuple(speeds)


@dataclass(frozen=True, repr=False)
class PublishedRates(Brief):
    """Samples per second of one training job on one GPU of each type.

    ``batch_samples``: samples of a step on the one GPU; ``gradient_bytes``: 4 a parameter, None with
    ``gradient_source`` if the number of parameters is unknown. By GPU type: ``samples_per_s``; ``sources``; ``how``,
    the derivation of rates that are scaled or interpolated. ValueError: figures that are not positive and finite, a
    rate without a source, a derivation without a rate.

    >>> rates = PublishedRates("M", "image", 8, None, None, {"V100": 40.0, "A100": 90.0}, {"A100": "V100 x 2.25"},
    ...                        {"V100": "an example", "A100": "an example"})
    >>> rates.measured
    ('V100',)
    """

    model: str
    sample: str
    batch_samples: int
    gradient_bytes: int | None
    gradient_source: str | None
    samples_per_s: Mapping[str, float]
    how: Mapping[str, str]
    sources: Mapping[str, str]

    def __post_init__(self) -> None:
        gradient_bytes = () if self.gradient_bytes is None else (self.gradient_bytes,)
        rates = tuple(self.samples_per_s.values())
        require_positive(samples_per_s=rates, batch_samples=(self.batch_samples,), gradient_bytes=gradient_bytes)
        if not self.samples_per_s:
            raise ValueError("samples_per_s must name at least one GPU type")
        if set(self.sources) != set(self.samples_per_s) or not all(self.sources.values()):
            raise ValueError(f"sources must name a source for {tuple(self.samples_per_s)}, found {dict(self.sources)}")
        if not set(self.how) <= set(self.samples_per_s) or not all(self.how.values()):
            raise ValueError(f"how must be words about some of {tuple(self.samples_per_s)}, found {dict(self.how)}")
        if (self.gradient_bytes is None) != (not self.gradient_source):
            raise ValueError("gradient_source must be given if and only if gradient_bytes is")

    @property
    def measured(self) -> tuple[str, ...]:
        """GPU types whose rate was measured with this batch, neither scaled nor interpolated."""
        return tuple(gpu for gpu in self.samples_per_s if gpu not in self.how)


@functools.cache
def published_rates() -> tuple[PublishedRates, ...]:
    """Return all published rates shipped with dlsched, one record per model, in the order of the file.

    Sources: Gavel (Narayanan et al., OSDI 2020), AdaptDL (Qiao et al., OSDI 2021) and the tables of
    NVIDIA/DeepLearningExamples; each figure names its own.
    """
    models = []
    for record in records_of("published_rates.json"):
        rates = record.pop("rates")
        samples_per_s = MappingProxyType({gpu: float(rate["samples_per_s"]) for gpu, rate in rates.items()})
        how = MappingProxyType({gpu: rate["how"] for gpu, rate in rates.items() if rate["how"] is not None})
        sources = MappingProxyType({gpu: rate["source"] for gpu, rate in rates.items()})
        models.append(PublishedRates(samples_per_s=samples_per_s, how=how, sources=sources, **record))
    return tuple(models)


PARAMETER_BYTES = 4
"""Bytes of one parameter, or of its gradient: single precision."""

NETWORK_BYTES_PER_S: Mapping[int, float] = MappingProxyType({1: 1.25e8, 10: 1.25e9, 25: 3.125e9})
"""Nominal speeds of networks: Gbit/s -> bytes per second in each direction, an eighth of the bits; headers
are not subtracted."""

IMAGENET_IMAGES = 1_281_167
"""Training images of ImageNet (ILSVRC 2012); see ``IMAGENET_SOURCE``."""

IMAGENET_SOURCE = (
    "ImageNet (ILSVRC 2012) has 1,281,167 training images: IMAGENET_NUM_TRAIN_IMAGES in "
    "scripts/tf_cnn_benchmarks/datasets.py at 039fa95 of tensorflow/benchmarks (Apache-2.0)."
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one worker: forward and backward of one mini-batch on one GPU.

    ``how``: how ``step_s`` follows from the published figures, and what it includes besides forward and backward; None
    if it was published itself. ValueError: a figure that is not positive and finite, or missing words.
    """

    gpu: str
    batch_samples: int
    step_s: float
    how: str | None
    source: str

    def __post_init__(self) -> None:
        require_positive(batch_samples=(self.batch_samples,), step_s=(self.step_s,))
        _require_words(self)


@dataclass(frozen=True, slots=True, repr=False)
class PublishedSteps(Brief):
    """A model, its number of parameters, and measured steps of one worker: at least one, unique by GPU and batch.

    ValueError: fewer than 1 parameter, a missing source, no step, or two steps of one GPU and batch.

    >>> model = PublishedSteps("M", "image", 1000, "invented", (Step("P100", 64, 0.5, None, "invented"),))
    >>> model.parameter_bytes
    4000
    """

    model: str
    sample: str
    parameters: int
    parameter_source: str
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        require_positive(parameters=(self.parameters,))
        _require_words(self)
        names = {(step.gpu, step.batch_samples) for step in self.steps}
        if not self.steps or len(names) < len(self.steps):
            raise ValueError(f"steps must be at least one, each of another GPU or batch, found {len(self.steps)}")

    @property
    def parameter_bytes(self) -> int:
        """Bytes that a worker pulls, and pushes, for every mini-batch."""
        return PARAMETER_BYTES * self.parameters


@functools.cache
def published_steps() -> tuple[PublishedSteps, ...]:
    """Return all published steps shipped with dlsched, one record per model, in the order of the file."""
    return tuple(
        PublishedSteps(**(record | {"steps": tuple(Step(**step) for step in record["steps"])}))
        for record in records_of("published_steps.json")
    )


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
        _require_words(self)
        for block in self.blocks:
            _require_words(block)
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

        An iteration processes ``batch_samples`` for each replica of the first stage; the replicas of another stage share them
        evenly. ``replicas``: one number for all stages, or one a stage. ValueError: a number of stages not from 1 to that of the
        blocks, or replicas below 1 or for another number of stages.
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
        # seconds of one unit of work for all samples of an iteration
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
    """0 and the end of each stage, for a cut with the least largest work per replica; ties: least sum of squares.

    >>> balanced_cut([1, 1, 1, 1, 6], [1, 1, 1])
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
