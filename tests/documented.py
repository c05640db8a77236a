"""Names that the READMEs of ``models/`` give to rows and variables."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

MODELS = Path(__file__).parents[1] / "models"


def documented(family: str, section: str, table: str) -> list[str]:
    """First column of a table of a family's README, with <...> standing for a job, a position or a count."""
    text = (MODELS / family / "README.md").read_text(encoding="utf-8")
    part = text.split(f"\n## {section}\n")[1].split("\n## ")[0].split(f"\n{table}\n\n")[1]
    return re.findall(r"^\| `([^`]+)` \|", part.split("\n\n")[0], re.MULTILINE)


def assert_named(names: Collection[str], documents: Sequence[str]) -> None:
    """Assert that every name of a model fits one documented name, and that every documented name is used."""
    patterns = [_pattern(name) for name in documents]
    for name in names:
        assert sum(bool(each.fullmatch(name)) for each in patterns) == 1, name
    for document, each in zip(documents, patterns, strict=True):
        assert any(map(each.fullmatch, names)), document


def _pattern(name: str) -> re.Pattern[str]:
    parts = re.split(r"(<\w+>)", name)
    return re.compile("".join(r"\w+" if part.startswith("<") else re.escape(part) for part in parts))
