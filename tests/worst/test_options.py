"""The own options of spaces."""

import inspect
from importlib import import_module
from typing import get_args

import pytest

from dlsched import FAMILIES, UsageError
from dlsched.catalogue.families import space
from dlsched.worst.options import SHARED, space_of


@pytest.mark.parametrize("family", FAMILIES)
def test_every_option_is_a_keyword_of_the_space(family: str) -> None:
    """And every keyword an option, of its type and with words that a command line can offer."""
    maker = import_module(f"dlsched.worst.spaces.{family}").space_of
    keywords = {name: each for name, each in inspect.signature(maker, eval_str=True).parameters.items()}
    own = space(family)
    assert all(each.kind is each.KEYWORD_ONLY for each in keywords.values())
    assert own is not None and [*keywords] == [*SHARED, *own]
    for name, option in own.items():
        assert option.kind in (get_args(keywords[name].annotation) or (keywords[name].annotation,))
        assert len(option.words) > 10


def test_a_space_is_made_of_what_is_given() -> None:
    """None is not given; a draw has the sizes that were asked for."""
    import numpy as np

    drawn = space_of("ring_allocation", jobs=2, gpus=9, preset=None, tables="any").draw(np.random.default_rng(0))
    assert (len(drawn["jobs"]), drawn["gpus"]) == (2, 9)
    with pytest.raises(UsageError, match="slots: found 2, allowed: no such option for ring_allocation"):
        space_of("ring_allocation", slots=2)
