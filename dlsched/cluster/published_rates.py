"""Published training rates on one GPU, by GPU type and model: which type suits which model.

The figures lie in ``published_rates.json``. Each names its source; a figure that was not measured directly
also says how it was derived. K80, P100 and V100 come from Gavel (OSDI 2020), T4 from AdaptDL (Pollux, OSDI
2021), A100 is scaled.
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

    Parameters
    ----------
    model, sample
        What is trained, and what one sample of it is.
    batch_samples
        Samples of one step on the one GPU.
    gradient_bytes
        Bytes of the gradient, 4 a parameter; ``None`` where the number of parameters is not known.
    gradient_source
        Where the number of parameters comes from; ``None`` if and only if ``gradient_bytes`` is.
    samples_per_s
        GPU type -> samples per second.
    how
        GPU type -> how the rate was made, for the types whose rate is scaled or interpolated and not measured.
    sources
        GPU type -> where the rate comes from, for every type.

    Raises
    ------
    ValueError
        Figures that are not positive and finite, a rate without a source, or words about a type without a rate.

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
    """Return all the published rates that dlsched carries, one a model, in the order of the file.

    Sources: Gavel (Narayanan et al., OSDI 2020), AdaptDL (Qiao et al., OSDI 2021) and the tables of
    NVIDIA/DeepLearningExamples, as each figure's own words say.
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
