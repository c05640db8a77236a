"""Tables of a study for papers (LaTeX, with booktabs) and for pages (Markdown), every name escaped."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from dlsched.core.messages import printable
from dlsched.study.figures.groups import Group
from dlsched.study.figures.tables import AT_MOST, NOTE, table, title

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_LIGATURES = re.compile(r"([-,'])(?=\1)")
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~&$@#]|:(?=[/\w+-])|(?<=www)\.")
"""What Markdown, or a site that shows it, may take for more than a letter."""


def latex(groups: Sequence[Group]) -> str:
    r"""Write the tables of groups for a document with ``\usepackage{booktabs}``, a ``table`` each."""
    return "\n".join(_latex_table(group) for group in groups)


def _latex_table(group: Group) -> str:
    columns, rows = table(group)
    lines = [" & ".join((latex_text(method), *map(_latex_cell, cells))) + r" \\" for method, *cells in rows]
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(title(group))}. {_latex_cell(NOTE)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex_cell, columns)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def _latex_cell(text: str) -> str:
    """Text of ours, in which ``<=`` is the sign."""
    return r"$\le$ ".join(map(latex_text, text.split(AT_MOST)))


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX: it stands there as it is, on one line, and does nothing.

    Letters of Latin-1 stay; other characters that pdfLaTeX cannot print without further packages are written as Python does.

    >>> latex_text("50%_a"), latex_text("\n")
    ('50\\%\\_a', '\\textbackslash{}n')
    """
    plain = "".join(map(_in_latin, printable(text)))
    escaped = _LIGATURES.sub(r"\1{}", "".join(_LATEX.get(letter, letter) for letter in plain))
    # behind the end of a row of a table a bracket begins an argument, and a star belongs to it
    return f"{{}}{escaped}" if escaped[:1] in ("[", "*") else escaped


def _in_latin(letter: str) -> str:
    if letter.isascii() or (letter <= "ÿ" and unicodedata.category(letter) in ("Ll", "Lu") and letter not in "ÐðÞþµ"):
        return letter
    return letter.encode("ascii", "backslashreplace").decode("ascii")


def markdown(groups: Sequence[Group]) -> str:
    """Write the tables of groups as GitHub's Markdown, each below its title."""
    parts = [
        part
        for group in groups
        for part in (f"**{markdown_text(title(group))}**", markdown_table(*table(group)).rstrip())
    ]
    return "\n\n".join((*parts, markdown_text(NOTE))) + "\n" if groups else ""


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    r"""Write a table as GitHub's Markdown, its text escaped; ``numbers``: all columns but the first stand to the right.

    >>> print(markdown_table(("a", "b"), [("x|y", "1")]), end="")
    | a | b |
    | --- | ---: |
    | x\|y | 1 |
    """
    rule = ["---", *["---:" if numbers else "---"] * (len(columns) - 1)]
    lines = (map(markdown_text, columns), rule, *(map(markdown_text, row) for row in rows))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def markdown_text(text: str) -> str:
    r"""Escape text for a cell of a Markdown table: it stands there as it is, on one line.

    >>> markdown_text("a|b_c")
    'a\\|b\\_c'
    """
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}", printable(text))
