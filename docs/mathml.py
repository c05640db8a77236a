"""Mathematics as MathML, written when the pages are built, so that they read without a network and without scripts.

latex2mathml converts; browsers know MathML Core, which lacks some of what it writes, so that is written in other words.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)
# A word set in one style, which MathML Core would space as a product of letters.
WORD = re.compile(r'<mrow>((?:<mi mathvariant="(monospace|italic|normal)">[^<]+</mi>){2,})</mrow>')
STYLES = {"monospace": "font-family: monospace", "italic": "font-style: italic", "normal": "font-style: normal"}
ALIGNED = re.compile(r'<mtd columnalign="(left|right|center)">')
UNKNOWN = re.compile(r"<m[ion]>(&|\\[^<]*)</m[ion]>|\[\d+pt\]")


def mathml(latex: str, display: str) -> str:
    r"""MathML of a formula.

    Raises
    ------
    ValueError
        There is something in it that the converter does not know.
    """
    latex = latex.replace("{aligned}", "{split}")  # the same, under the name that the converter knows
    latex = re.sub(r"\\\\\[\d+pt\]", r"\\\\", latex)
    converted = convert(latex, display=display)
    converted = WORD.sub(_word, converted)
    converted = ALIGNED.sub(r'<mtd style="text-align: \1">', converted)
    unknown = UNKNOWN.search(converted)
    if unknown:
        raise ValueError(f"found {unknown[0]}, allowed: what latex2mathml converts")
    return converted


def _word(match: re.Match[str]) -> str:
    return f'<mtext style="{STYLES[match[2]]}">{re.sub("<[^>]+>", "", match[1])}</mtext>'


def _write(translator: Any, latex: str, display: str, node: nodes.Node) -> None:
    try:
        translator.body.append(mathml(latex, display))
    except Exception as error:  # of any kind: the converter has none of its own. The warning fails the build.
        LOGGER.warning("no MathML of %r: %s: %s", latex, type(error).__name__, error, location=node)


def visit_math(translator: Any, node: nodes.math) -> None:
    """A formula within a line."""
    _write(translator, node.astext(), "inline", node)
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    _write(translator, node.astext().strip(), "block", node)
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx as the way in which HTML shows mathematics."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
