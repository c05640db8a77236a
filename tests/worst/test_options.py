"""The own options of spaces, read from their signatures and docstrings."""

import inspect

import pytest

from dlsched import FAMILIES, UsageError
from dlsched.worst.options import SHARED, options_of, space_of


@pytest.mark.parametrize("family", FAMILIES)
def test_every_option_has_a_type_and_words(family: str) -> None:
    """A command line can offer it."""
    for option in options_of(family).values():
        assert option.kind in (int, float, str, bool)
        assert len(option.words) > 10
        assert option.default is None or isinstance(option.default, option.kind)


def test_options_of_ring_allocation() -> None:
    """As the command line is pinned."""
    options = options_of("ring_allocation")
    assert {name: option.default for name, option in options.items()} == {"tables": "convex", "counts": "powers"}
    assert options["counts"].words == "`powers` of two, or `all`"
    assert not set(options) & set(SHARED)


def test_a_space_is_made_of_what_is_given() -> None:
    """None is not given; a draw has the sizes that were asked for."""
    import numpy as np

    drawn = space_of("ring_allocation", jobs=2, gpus=9, preset=None, tables="any").draw(np.random.default_rng(0))
    assert (len(drawn["jobs"]), drawn["gpus"]) == (2, 9)
    with pytest.raises(UsageError, match="slots: found 2, allowed: no such option for ring_allocation"):
        space_of("ring_allocation", slots=2)


@pytest.mark.parametrize("family", FAMILIES)
def test_shared_keywords(family: str) -> None:
    """Every space takes jobs, GPUs and a preset, by name only."""
    from importlib import import_module

    parameters = inspect.signature(import_module(f"dlsched.worst.spaces.{family}").space_of).parameters
    assert set(SHARED) <= set(parameters)
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
