"""Bounds of prism and their verification: weights of the models.

With weights y_i of sum Y > 0, some GPU of every placement has models of weight at least Y / G. So no placement has less than
the least pressure of all sets of models of that weight. Verification enumerates these sets in rationals.
"""

from collections.abc import Iterable
from fractions import Fraction

from dlsched.certificates import DualsCertificate, rounded_down
from dlsched.core.result import Certificate
from prism.instance import Instance

FORMULATION = "sets"


def certificate_of(instance: Instance, weights: Iterable[Fraction | int], value: Fraction) -> DualsCertificate:
    """Write down weights that prove a value."""
    rows = {f"cover_{model.id}": float(weight) for model, weight in zip(instance.jobs, weights, strict=True)}
    return DualsCertificate(FORMULATION, rows, rounded_down(value))


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound that weights prove, exactly; ValueError: they are none of this instance, or prove nothing."""
    if not isinstance(certificate, DualsCertificate) or certificate.formulation != FORMULATION:
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    names = {f"cover_{model.id}": model for model in instance.jobs}
    if certificate.rows.keys() - names:
        raise ValueError(f"there is no row {min(certificate.rows.keys() - names)!r}")
    # heavy models first, which finds a set of the share, and so a limit for all others, soon
    weighed = [(Fraction(certificate.rows.get(name, 0.0)), model) for name, model in names.items()]
    weighed.sort(key=lambda each: -each[0])
    share = sum((weight for weight, _ in weighed), Fraction(0)) / instance.gpus
    if share <= 0:
        raise ValueError("the sum of the weights must be positive")
    least: list[Fraction] = []

    def grow(start: int, weight: Fraction, load: Fraction, free: Fraction) -> None:
        if least and load >= least[0] * free:
            return
        if weight >= share:
            least[:] = [load / free]
            return
        for index in range(start, len(weighed)):
            more, model = weighed[index]
            room = free - Fraction(model.size_gb)
            if room > 0:
                grow(index + 1, weight + more, load + model.load, room)

    grow(0, Fraction(0), Fraction(0), Fraction(instance.memory_gb))
    if not least:
        raise ValueError("no set of models has that weight: there is no placement, and no bound either")
    return least[0]
