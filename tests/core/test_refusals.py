"""A method refuses an instance at every limit, or at none: the size and the objective do not depend on the time there is."""

import pytest

import dlsched
from dlsched import elastic_stream, matching_placement, srpt_mapping
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits

LIMITS = [Limits(), Limits(time_s=0), Limits(nodes=0), Limits(nodes=1), Limits(time_s=1e-9)]


def placement(objective, **more):
    """Workers for jobs, with that objective."""
    return matching_placement.generate(**{"seed": 1, "jobs": 4, "gpus": 12, **more}, objective=objective)


def gangs(jobs, gpus):
    """Jobs of one GPU."""
    return srpt_mapping.generate(preset="single-gpu", jobs=jobs, gpus=gpus, seed=1)


def stream():
    """Jobs whose GPUs may change at any time: no slots to be programmed."""
    return elastic_stream.generate(preset="poisson", jobs=3, gpus=4, seed=1)


REFUSED = {
    "assignment-fair": (lambda: placement("alpha_fair", alpha=2.0), "assignment", "objective"),
    "minlp-fair": (lambda: placement("alpha_fair", alpha=2.0), "minlp", "objective"),
    "minlp-ratio": (lambda: placement("max_rho"), "minlp", "objective"),
    "assignment-large": (lambda: placement("mean", jobs=100, gpus=1000), "assignment", "coefficients"),
    "minlp-large": (lambda: placement("mean", jobs=100, gpus=1000), "minlp", "terms"),
    "milp-large": (lambda: placement("mean", jobs=100, gpus=1000), "milp", "columns"),
    "milp-ratio": (lambda: placement("max_rho", jobs=100, gpus=1000), "milp", "columns"),
    "dp-large": (lambda: placement("mean", jobs=100, gpus=1000), "dp", "states"),
    "gangs": (lambda: gangs(60, 128), "milp", "pairs"),
    "many-gangs": (lambda: gangs(5_001, 8), "plan", "jobs"),
    "stream": (stream, "milp", "tick"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_refused_at_every_limit(case):
    """In the same words."""
    made, method, word = REFUSED[case]
    instance, said = made(), set()
    for limits in LIMITS:
        with pytest.raises(UsageError, match=word) as error:
            dlsched.solve(instance, method=method, limits=limits)
        said.add(str(error.value))
    assert len(said) == 1
