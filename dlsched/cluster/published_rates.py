"""Published training rates on one GPU, by GPU type and model: which type suits which model.

The figures are in ``published_rates.json``, each with its source; a figure that was not measured directly also has its
derivation. K80, P100 and V100 come from Gavel (OSDI 2020), T4 from AdaptDL (Pollux, OSDI 2021), A100 is scaled.
"""

import functools
import importlib.resources
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dlsched.core.display import Brief


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
        for name, figures in (
            ("samples_per_s", tuple(self.samples_per_s.values())),
            ("batch_samples", (self.batch_samples,)),
            ("gradient_bytes", () if self.gradient_bytes is None else (self.gradient_bytes,)),
        ):
            if not all(figure > 0 and math.isfinite(figure) for figure in figures):
                raise ValueError(f"{name} must be positive and finite, found {figures}")
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
    text = (importlib.resources.files("dlsched.cluster") / "published_rates.json").read_text(encoding="utf-8")
    found = []
    for record in json.loads(text):
        rates = record.pop("rates")
        samples_per_s = MappingProxyType({gpu: float(rate["samples_per_s"]) for gpu, rate in rates.items()})
        how = MappingProxyType({gpu: rate["how"] for gpu, rate in rates.items() if rate["how"] is not None})
        sources = MappingProxyType({gpu: rate["source"] for gpu, rate in rates.items()})
        found.append(PublishedRates(samples_per_s=samples_per_s, how=how, sources=sources, **record))
    return tuple(found)
