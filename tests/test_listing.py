"""``dlsched.methods`` and ``dlsched.presets``: the records of the command and of the families, and how they print."""

import pytest

import dlsched
from dlsched import FAMILIES


def test_methods_are_those_of_the_command(cli) -> None:  # type: ignore[no-untyped-def]
    """Field by field, of all families and of one, by its name or module."""
    listed, of_command = dlsched.methods(), cli("methods", "--json").json
    assert [{name: getattr(each, name) for name in of_command[0]} for each in listed] == of_command
    assert dlsched.methods("async_sgd") == dlsched.methods(dlsched.async_sgd)
    assert [each for each in listed if each.family == "async_sgd"] == [*dlsched.methods("async_sgd")]
    with pytest.raises(dlsched.UsageError, match="family: found 'rings'"):
        dlsched.methods("rings")


def test_presets_are_drawn() -> None:
    """Every one is of a family whose generator takes it, the default first."""
    assert [(each.family, each.name) for each in dlsched.presets()] == [
        (name, preset) for name, family in FAMILIES.items() for preset in family.presets
    ]
    first = dlsched.presets("ring_allocation")[0]
    drawn = dlsched.generate("ring_allocation", preset=first.name, jobs=2, seed=0)
    assert drawn == dlsched.generate("ring_allocation", jobs=2, seed=0)


def test_they_print_as_a_table() -> None:
    """A head, a line, a row each; in a notebook an HTML table."""
    text = str(dlsched.methods("async_sgd")).splitlines()
    assert text[0].split() == ["family", "method", "kind", "here", "needs", "guarantee"] and set(text[1]) == {"-"}
    assert len(text) == 2 + len(FAMILIES["async_sgd"].methods)
    assert dlsched.presets("async_sgd")._repr_html_().count("<tr>") == 1 + len(FAMILIES["async_sgd"].presets)
