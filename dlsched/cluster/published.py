"""Published measurements: training speeds, rates on one GPU by type, and seconds of a training step.

*Training speeds*, the numbers behind realistic instances, are in ``published_speeds.json``, written by the readers of
`dlsched.traces.speedups`. Each record's ``source`` names where it comes from, and what was assumed (data set, epoch, batch
on one GPU or on all of them).

*Rates on one GPU*, by GPU type and model, which say which type suits which model, are in ``published_rates.json``, each with
its source; a figure that was not measured directly also has its derivation. K80, P100 and V100 come from Gavel (OSDI 2020),
T4 from AdaptDL (Pollux, OSDI 2021), A100 is scaled.

*Seconds of one training step* of one worker, and numbers of parameters, are in ``published_steps.json``: image classifiers,
one worker with one GPU. Every number of parameters and every step names its source. Steps come from TensorFlow's benchmarks
of May 2017 (P100, K80), from jcjohnson's cnn-benchmarks and soumith's convnet-benchmarks (Titan X) and from Gavel (V100);
the numbers of parameters of VGG-16, ResNet-50 and ResNet-152 are those of ``published_stages``. Numbers of parameters are
those with 1,000 classes; TensorFlow's benchmarks have 1,001.
"""

import functools
import importlib.resources
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dlsched.core.display import Brief


def records_of(file: str) -> Any:
    """Return the records of a file of published figures, a list of objects."""
    return json.loads((importlib.resources.files("dlsched.cluster") / file).read_text(encoding="utf-8"))


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


def speeds_json(speeds: Iterable[PublishedSpeed]) -> str:
    """Return the text of a file of published speeds: a JSON list, one record per line."""
    lines = []
    for speed in speeds:
        record = {
            "model": speed.model,
            "gpu": speed.gpu,
            "batch_samples": speed.batch_samples,
            "dataset": speed.dataset,
            "epoch_samples": speed.epoch_samples,
            "epoch_time_s": {str(count): time for count, time in zip(speed.counts, speed.epoch_time_s, strict=True)},
            "source": speed.source,
        }
        lines.append(json.dumps(record, ensure_ascii=False, allow_nan=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"


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
        for name, words in (("gpu", self.gpu), ("source", self.source), ("how", self.how)):
            if words == "":
                raise ValueError(f"{name} must not be empty")


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
        if self.parameters < 1:
            raise ValueError(f"parameters must be at least 1, found {self.parameters}")
        for name, words in (("model", self.model), ("parameter_source", self.parameter_source)):
            if not words:
                raise ValueError(f"{name} must not be empty")
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
