"""The meaning of prism, in rationals.

minimise max_g (sum of w_i on g) / (C - sum of s_i on g), ``assignment``: each model is on one of the G GPUs, and no other is
named; ``memory``: sum of s_i on g < C
"""

from fractions import Fraction

from dlsched.core.result import Violation
from prism.instance import Instance
from prism.solution import Placement


def largest_pressure(instance: Instance, placement: Placement) -> Fraction:
    """Return the objective of a feasible placement, exactly."""
    loads, free = [Fraction(0)] * instance.gpus, [Fraction(instance.memory_gb)] * instance.gpus
    for model in instance.jobs:
        loads[placement.gpus[model.id]] += model.load
        free[placement.gpus[model.id]] -= Fraction(model.size_gb)
    return max(load / room for load, room in zip(loads, free, strict=True))


def objective(instance: Instance, placement: Placement) -> float:
    """Largest pressure of a GPU, rounded once."""
    return float(largest_pressure(instance, placement))


def check(instance: Instance, placement: Placement) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    ids = {model.id for model in instance.jobs}
    strange = [name for name in placement.gpus if name not in ids]
    violations = [Violation("assignment", name, message="there is no such model") for name in strange]
    used: dict[int, Fraction] = {}
    for model in instance.jobs:
        gpu = placement.gpus.get(model.id)
        if gpu is None or not 0 <= gpu < instance.gpus:
            message = "it has no GPU" if gpu is None else f"GPU {gpu} does not exist"
            violations.append(Violation("assignment", model.id, message=message))
        else:
            used[gpu] = used.get(gpu, Fraction(0)) + Fraction(model.size_gb)
    for gpu, size in sorted(used.items()):
        if size >= Fraction(instance.memory_gb):
            excess = float(size - Fraction(instance.memory_gb))
            message = f"models of {float(size):g} GB need a GPU of more, it has {instance.memory_gb:g}"
            violations.append(Violation("memory", f"gpu{gpu}", amount=excess, message=message))
    return violations


def infeasible(instance: Instance) -> str | None:
    """Say why there is no placement if sizes prove it, else None."""
    for model in instance.jobs:
        if model.size_gb >= instance.memory_gb:
            return f"model {model.id} leaves no memory of a GPU free"
    if sum(Fraction(model.size_gb) for model in instance.jobs) >= instance.gpus * Fraction(instance.memory_gb):
        return "the models leave no memory of the GPUs free"
    return None
