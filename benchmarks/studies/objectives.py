"""Rings at the scale of GADGET's experiments: with a price of energy, and with alpha-fair utilities."""

from dlsched import ring_embedding

SIZES = {"jobs": 100, "servers": 50, "slots": 200}


def energy(*, price: float, seed: int, slots: int = SIZES["slots"]) -> ring_embedding.Instance:
    """Energy at a price in utility per kWh."""
    sizes = SIZES | {"slots": slots}
    return ring_embedding.generate(preset="paper-energy", energy_price=price, seed=seed, **sizes)


def fair(*, alpha: float, servers: int, seed: int, slots: int = SIZES["slots"]) -> ring_embedding.Instance:
    """Utilities of one alpha."""
    sizes = SIZES | {"servers": servers, "slots": slots}
    return ring_embedding.generate(preset="paper-alpha1", alpha=alpha, seed=seed, **sizes)


def least_first(*, goal: str, servers: int, seed: int, slots: int = SIZES["slots"]) -> ring_embedding.Instance:
    """The same jobs with the objective max_min."""
    return fair(alpha=1.0, servers=servers, seed=seed, slots=slots).model_copy(update={"objective": goal})
