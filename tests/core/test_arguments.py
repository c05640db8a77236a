"""The arguments that type checkers see of instances and their parts, which stand beside the fields, against the fields."""

import ast
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

from dlsched import FAMILIES, UsageError
from dlsched.core.part import Part

CLASSES = [
    *(getattr(import_module(f"dlsched.{family}"), name) for family in FAMILIES for name in ("Instance", "Job")),
    *(getattr(import_module("dlsched.cluster.network"), name) for name in ("Link", "Path")),
    import_module("dlsched.cluster.speeds").SpeedLaw,
    import_module("dlsched.cluster.utility").Table,
]
DEFAULT = {"kind"}
"""Fields that have one value only."""


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_the_arguments_that_type_checkers_see_are_the_fields(cls: type[Part]) -> None:
    """The same names, and a default where the field has one."""
    shown = Shown(cls)
    if shown.function is None:
        assert cls.__module__ == "dlsched.async_sgd.instance"  # whose jobs hold numbers and names only
        return
    fields = {name: not field.is_required() for name, field in cls.model_fields.items() if name not in DEFAULT}
    assert shown.arguments == fields


class Shown:
    """The ``__init__`` that a class has for type checkers only."""

    def __init__(self, cls: type[Part]) -> None:
        self.module = sys.modules[cls.__module__]
        self.name = cls.__name__

    @cached_property
    def function(self) -> ast.FunctionDef | None:
        """Its definition, None where the checkers make one from the fields."""
        tree = ast.parse(Path(str(self.module.__file__)).read_text(encoding="utf-8"))
        cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == self.name)
        inside = [node for branch in cls.body if isinstance(branch, ast.If) for node in branch.body]
        return next((node for node in inside if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)

    @property
    def arguments(self) -> dict[str, bool]:
        """Whether each has a default, by name; those of ``**head: Unpack[Head]`` as well."""
        assert self.function is not None
        own = self.function.args
        found = {each.arg: default is not None for each, default in zip(own.kwonlyargs, own.kw_defaults, strict=True)}
        if own.kwarg is not None:
            assert isinstance(own.kwarg.annotation, ast.Subscript) and isinstance(own.kwarg.annotation.slice, ast.Name)
            more = getattr(self.module, own.kwarg.annotation.slice.id)
            found |= dict.fromkeys(more.__required_keys__, False) | dict.fromkeys(more.__optional_keys__, True)
        return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_number_as_text_is_quoted(family: str) -> None:
    """Readers see that it is a text; a number is not quoted."""
    with pytest.raises(UsageError, match=r"^jobs: found '3', allowed: an integer >= 1$"):
        FAMILIES[family].generate(jobs="3")
    with pytest.raises(UsageError, match=r"^jobs: found -3, allowed: an integer >= 1$"):
        FAMILIES[family].generate(jobs=-3)
