"""Tables of the library of instances show every row of its index, once with its family and again where it is open."""

import instance_pages


def test_every_row_is_shown() -> None:
    """By family, and open ones with their family's name."""
    rows = instance_pages.read_index()
    pages = instance_pages.pages(rows)
    assert set(pages) == {"counts.md", "open.md", *(f"{row['family']}.md" for row in rows)}
    for row in rows:
        name = row["instance"].partition("/")[2].removesuffix(".json")
        assert pages[f"{row['family']}.md"].count(f"| `{name}` |") == 1
        shown = f"| `{row['family']}/{name}` |"
        assert pages["open.md"].count(shown) == (row["status"] == "open")


def test_numbers_and_bars() -> None:
    """Objectives have ten digits; bars do not end a cell; a value that is unknown is empty."""
    row = dict.fromkeys(instance_pages.SHOWN, "") | {
        "instance": "rings/a.json",
        "best": "1234.56789012345",
        "size": "a|b",
    }
    head, rule, line = instance_pages.table([row]).splitlines()
    assert line == "| `a` | a\\|b |  |  | 1,234.56789 |  |  |  |  |  |"
    assert head.count("|") == rule.count("|") == 11
