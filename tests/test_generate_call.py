"""``generate`` of any family is that of the family, by name."""

import pytest

import dlsched
from dlsched.families import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_generator_of_the_family(family: str) -> None:
    """The first preset by default; the same arguments, the same instance."""
    record = FAMILIES[family]
    preset = next(iter(record.presets))
    assert dlsched.generate(family, seed=5).sha256 == record.generate(preset=preset, seed=5).sha256
    assert dlsched.generate(family, preset=preset, seed=5).sha256 == dlsched.generate(family, seed=5).sha256


def test_what_a_family_does_not_take_is_refused() -> None:
    """Presets, options and families that there are not."""
    with pytest.raises(dlsched.UsageError, match="preset: found 'huge'"):
        dlsched.generate("ring_allocation", preset="huge")
    with pytest.raises(dlsched.UsageError, match=r"load: found 0\.5, allowed: no such option for ring_allocation"):
        dlsched.generate("ring_allocation", load=0.5)
    with pytest.raises(dlsched.UsageError, match="family: found 'rings'"):
        dlsched.generate("rings")
