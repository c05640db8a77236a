"""prism for tests: small instances, and the optimum by trying all placements, which knows none of the family's algorithms."""

from collections.abc import Iterator
from fractions import Fraction

from hypothesis import strategies as st

from dlsched.core.errors import UsageError
from dlsched.core.result import FrozenMapping
from dlsched.testing.cases import Case, named, odd
from prism import cpsat
from prism.checker import infeasible
from prism.instance import Instance
from prism.solution import Placement

_TIES = st.integers(1, 9).map(float)
_NUMBERS = st.one_of(_TIES, st.sampled_from([0.5, 1.5, 2.5]), odd(0.25, 9))


def _placements(models: int, gpus: int) -> Iterator[list[int]]:
    """Yield the GPUs of the models, GPUs numbered as they are first used."""
    if models == 0:
        yield []
        return
    for before in _placements(models - 1, gpus):
        for gpu in range(min(gpus, 1 + max(before, default=-1) + 1)):
            yield [*before, gpu]


def brute_force(instance: Instance) -> tuple[float, Placement] | None:
    """Return the least objective and a placement that attains it; None: none has free memory on every GPU."""
    best: tuple[Fraction, list[int]] | None = None
    for gpus in _placements(len(instance.jobs), instance.gpus):
        pressures = []
        for gpu in set(gpus):
            models = [model for model, place in zip(instance.jobs, gpus, strict=True) if place == gpu]
            free = Fraction(instance.memory_gb) - sum(Fraction(model.size_gb) for model in models)
            load = sum(Fraction(model.requests_per_s) / Fraction(model.slo) for model in models)
            pressures.append(load / free if free > 0 else None)
        if None not in pressures and (best is None or max(pressures) < best[0]):
            best = max(pressures), gpus
    if best is None:
        return None
    ids = [model.id for model in instance.jobs]
    return float(best[0]), Placement(FrozenMapping(dict(zip(ids, best[1], strict=True))))


@st.composite
def instances(draw: st.DrawFn, *, max_jobs: int = 6) -> Instance:
    """Instances with ties, with room and without; either sizes prove that there is no placement, or there is one."""
    models = st.fixed_dictionaries({"size_gb": _NUMBERS, "requests_per_s": _NUMBERS, "slo": _NUMBERS})
    jobs = named(draw(st.lists(models, min_size=1, max_size=max_jobs)))
    gpus, memory_gb = draw(st.integers(1, 4)), draw(st.sampled_from([8.0, 12.0, 24.0, 80.0]))
    instance = Instance(name="drawn", gpus=gpus, memory_gb=memory_gb, jobs=jobs)
    if infeasible(instance) is None and brute_force(instance) is None:
        return instance.model_copy(update={"gpus": len(jobs)})
    return instance


def _refuses(method: str, instance: Instance) -> bool:
    try:
        cpsat.require(instance)
    except UsageError:
        return method == "cpsat" and infeasible(instance) is None
    return False


CASE = Case(instances=instances, brute_force=brute_force, refuses=_refuses)
