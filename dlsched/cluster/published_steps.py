"""Published seconds of one training step of one worker, and published numbers of parameters.

The figures are in ``published_steps.json``: image classifiers, one worker with one GPU. Every number of parameters and
every step names its source. Steps come from TensorFlow's benchmarks of May 2017 (P100, K80), from jcjohnson's
cnn-benchmarks and soumith's convnet-benchmarks (Titan X) and from Gavel (V100); the numbers of parameters of VGG-16,
ResNet-50 and ResNet-152 are those of ``published_stages``. Numbers of parameters are those with 1,000 classes;
TensorFlow's benchmarks have 1,001.
"""

import functools
import importlib.resources
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dlsched.core.display import Brief

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
        for name, figure in (("batch_samples", self.batch_samples), ("step_s", self.step_s)):
            if not (figure > 0 and math.isfinite(figure)):
                raise ValueError(f"{name} must be positive and finite, found {figure}")
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
    text = (importlib.resources.files("dlsched.cluster") / "published_steps.json").read_text(encoding="utf-8")
    return tuple(
        PublishedSteps(**(record | {"steps": tuple(Step(**step) for step in record["steps"])}))
        for record in json.loads(text)
    )
