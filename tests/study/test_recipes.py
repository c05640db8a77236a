"""Recipes are read back from their data; data of no known shape stay as they were found."""

from typing import Any

import pytest

from dlsched.study.recipes import DrawnRecipe, GeneratedRecipe, GivenRecipe, SearchedRecipe, UnknownRecipe, read_recipe

WHERE = "ring_allocation", "source", "preset", 3
CODE: dict[str, Any] = {"folder": "/home/me", "fingerprint": "ab12", "arguments": {"jobs": 3, "seed": 0}}


@pytest.mark.parametrize(
    "recipe",
    [
        GeneratedRecipe(*WHERE, arguments={"jobs": 3, "seed": 0}),
        GivenRecipe(*WHERE, {"format": "dlsched/ring_allocation/1"}),
        GivenRecipe(*WHERE, None),
        DrawnRecipe(*WHERE, "mine.py:draw", **CODE),
        SearchedRecipe(*WHERE, "doubling", **CODE),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_every_kind_is_read_back(recipe) -> None:
    """It is the same record."""
    assert read_recipe(*WHERE, recipe.data) == recipe


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"generate": 3},
        {"generate": {}, "more": 1},
        {"instance": {}, "generate": {}},
        {"python": "mine.py:draw"},
        {"python": 1, **CODE},
        {"worst": "doubling", **CODE, "arguments": []},
        {"worst": "doubling", **CODE, "more": 1},
        {"python": "a:b", "worst": "doubling", **CODE},
    ],
    ids=str,
)
def test_other_data_are_kept(data) -> None:
    """A field too many, too few or of another type makes them unknown."""
    recipe = read_recipe(*WHERE, data)
    assert isinstance(recipe, UnknownRecipe) and recipe.data == data
