"""Streams of gangs whose predictions are wrong."""

from dlsched import srpt_mapping

GPUS, LOAD = 64, 0.9


def wrong(*, sigma: float, jobs: int, seed: int) -> srpt_mapping.Instance:
    """Predictions off by a lognormal factor."""
    stream = srpt_mapping.generate(preset="mixed", jobs=jobs, gpus=GPUS, load=LOAD, seed=seed)
    return srpt_mapping.with_error(stream, sigma=sigma, seed=seed)


def predicted(*, by: str, jobs: int, seed: int) -> srpt_mapping.Instance:
    """Predictions of a predictor for recurring jobs."""
    stream = srpt_mapping.generate(preset="recurring", jobs=jobs, gpus=GPUS, load=LOAD, seed=seed)
    return srpt_mapping.predict(stream, by=by, seed=seed)
