"""``dlsched methods``: what there is, in the documented fields."""

from typing import Any

from dlsched.families import FAMILIES

RING = {
    "exact": ["exact", "dp", "milp", "minlp"],
    "heuristic": ["doubling", "marginal", "fixed", "equal", "hull"],
    "bound": ["lagrange", "lp"],
}


def test_every_method_is_described(cli: Any) -> None:
    """The contract's fields and names; here every solver is installed."""
    ended = cli("methods", "ring_allocation", "--json")
    assert (ended.code, ended.err) == (0, "")
    for entry in ended.json:
        assert set(entry) == {"family", "name", "kind", "available", "needs", "guarantee"}
        assert (entry["family"], entry["available"]) == ("ring_allocation", True)
        assert entry["guarantee"]
    found = {kind: [entry["name"] for entry in ended.json if entry["kind"] == kind] for kind in RING}
    assert found == RING
    needs = {entry["name"]: entry["needs"] for entry in ended.json}
    assert (needs["exact"], needs["doubling"], needs["minlp"]) == (None, None, "scip")
    assert set(needs["milp"].split(" or ")) == {"highs", "cbc", "scip", "cpsat", "gurobi"}


def test_all_families_are_the_default(cli: Any) -> None:
    """``exact`` exists in every one."""
    listed = cli("methods", "--json").json
    assert {entry["family"] for entry in listed} == set(FAMILIES)
    assert {entry["family"] for entry in listed if entry["name"] == "exact"} == set(FAMILIES)


def test_the_table_names_all(cli: Any) -> None:
    """For people: the same names on standard output."""
    ended = cli("methods")
    assert ended.err == ""
    assert all(name in ended.out for names in RING.values() for name in names)
