"""Immutable mappings read like the dictionaries they were made of."""

import pytest

from dlsched.core.frozen import FrozenMapping


def test_what_it_holds():
    """In the order given, by every way to read it."""
    held = FrozenMapping({"b": 1, "a": 2})
    assert (list(held), list(held.values()), list(held.items())) == (["b", "a"], [1, 2], [("b", 1), ("a", 2)])
    assert (held["a"], len(held), held == {"a": 2, "b": 1}) == (2, 2, True)


def test_it_cannot_be_changed():
    """Neither itself, nor by the dictionary it was made of, nor by its views."""
    given = {"a": 1}
    held = FrozenMapping(given)
    given["a"] = 2
    with pytest.raises(TypeError):
        held["a"] = 3
    with pytest.raises(TypeError):
        held.items()["a"] = 3
    with pytest.raises(TypeError):
        held.values().mapping["a"] = 3
    assert held["a"] == 1
