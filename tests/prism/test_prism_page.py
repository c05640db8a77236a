"""docs/prism.md states what the programs print."""

import sys
from pathlib import Path

import pytest
import scores

PAGE = (Path(__file__).parents[2] / "docs" / "prism.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [[], ["--gaps"]])
def test_every_row_is_on_the_page(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scores, and the ratios of each instance."""
    monkeypatch.setattr(sys, "argv", ["scores.py", *options])
    assert scores.main() == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 8 and [row for row in rows if row not in PAGE.splitlines()] == []


def test_no_claim_is_attainable(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the README's scores the page says what the program says."""
    monkeypatch.setattr(sys, "argv", ["scores.py"])
    assert scores.main() == 0
    printed = capsys.readouterr().out
    for claim in scores.CLAIMS:
        assert f"| {claim} | not attainable by valid placements of all 50 |" in PAGE
        assert f"claimed score {claim}, highest score 26.2560: not attainable by valid placements of all 50" in printed
