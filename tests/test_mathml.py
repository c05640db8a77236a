"""Mathematics of the pages: MathML Core as browsers know it, and nothing that the converter passed over."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def mathml():
    path = Path(__file__).parents[1] / "docs" / "mathml.py"
    specification = importlib.util.spec_from_file_location("mathml", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.mathml


def test_lines_are_rows_of_a_table(mathml):
    """Two aligned lines are two rows, the first cells to the right, the second ones to the left, spaces between left out."""
    found = mathml("\\begin{aligned} a & \\le b \\\\[2pt]\n \\mathtt{tick\\_s} & = c \\end{aligned}", "block")
    assert found.count("<mtr>") == 2
    assert found.count('<mtd style="text-align: right">') == found.count('<mtd style="text-align: left">') == 2
    assert "2pt" not in found
    assert '<mtext style="font-family: monospace">tick&#x0005F;s</mtext>' in found


def test_words_are_words(mathml):
    """Several letters in one style are a word, a single one is a letter."""
    assert '<mtext style="font-style: normal">cost</mtext>' in mathml(r"\mathrm{cost}_j", "inline")
    assert "<mtext" not in mathml("c o s t", "inline")


@pytest.mark.parametrize("latex", [r"\unheardof x", r"\begin{gathered} a & b \end{gathered}"])
def test_what_is_unknown_is_refused(latex, mathml):
    """Commands and tables that the converter does not know would be shown as they are written."""
    with pytest.raises(ValueError, match="allowed: what latex2mathml converts"):
        mathml(latex, "inline")
