"""LaTeX tables (with booktabs) and Markdown tables of a study, with every name escaped."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from dlsched.core.messages import printable
from dlsched.core.quantities import AT_MOST
from dlsched.study.figures.groups import FILES, Group
from dlsched.study.figures.tables import RATIOS, note, note_of, paper_keys_of, table, title

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
"""Characters that Markdown, or a site that shows it, may take for markup."""


def latex(groups: Sequence[Group], columns: Sequence[str] | None = None) -> str:
    r"""Write the tables of groups for a document with ``\usepackage{booktabs}``, a ``table`` with a label each."""
    labels: dict[str, int] = {}
    tables = []
    # Labels are of letters and digits, numbered where two groups would share one.
    for group in groups:
        slug = (
            re.sub(
                r"[^a-z0-9]+",
                "-",
                "-".join((group.family, *[group.preset] * (group.preset != FILES), group.objective)).lower(),
            ).strip("-")
            or "study"
        )
        labels[slug] = labels.get(slug, 0) + 1
        tables.append(
            _latex_table(
                group, columns or paper_keys_of(group), slug if labels[slug] == 1 else f"{slug}-{labels[slug]}"
            )
        )
    return "\n".join(tables)


def _latex_table(group: Group, keys: Sequence[str], label: str) -> str:
    columns, rows = table(group, keys)
    lines = [" & ".join(map(_latex_cell, cells)) + r" \\" for cells in rows]
    if keys and keys[0] == "method":  # a method may be called "<= "
        lines = [" & ".join((latex_text(method), *map(_latex_cell, cells))) + r" \\" for method, *cells in rows]
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering\footnotesize",
            rf"\caption{{{latex_text(title(group))}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{''.join('l' if key == 'method' else 'r' for key in keys)}}}",
            r"\toprule",
            " & ".join(map(_latex_cell, columns)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\smallskip{{\footnotesize {_latex_cell(_note(group, keys))}\par}}",
            r"\end{table}",
            "",
        )
    )


def _note(group: Group, keys: Sequence[str]) -> str:
    """Explain a table, and say of what its ratios are."""
    ratios = f"Ratios: {group.ratio_sentence}. " if set(keys) & RATIOS else ""
    return ratios + note(keys)


def _latex_cell(text: str) -> str:
    """Escape a cell of our own text, in which ``<=`` means the sign."""
    return r"$\le$ ".join(map(latex_text, text.split(AT_MOST)))


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX, so that it is printed literally, on one line.

    Latin-1 letters stay; other characters that pdfLaTeX cannot print without packages become Python escapes.

    >>> latex_text("50%_a"), latex_text("\n")
    ('50\\%\\_a', '\\textbackslash{}n')
    """
    plain = "".join(map(_in_latin, printable(text)))
    escaped = _LIGATURES.sub(r"\1{}", "".join(_LATEX.get(letter, letter) for letter in plain))
    # after the end of a table row, "[" would begin an argument and "*" would belong to the command
    return f"{{}}{escaped}" if escaped[:1] in ("[", "*") else escaped


def _in_latin(letter: str) -> str:
    if letter.isascii() or (letter <= "ÿ" and unicodedata.category(letter) in ("Ll", "Lu") and letter not in "ÐðÞþµ"):
        return letter
    return letter.encode("ascii", "backslashreplace").decode("ascii")


def markdown(groups: Sequence[Group], columns: Sequence[str] | None = None) -> str:
    """Write the tables of groups as GitHub's Markdown, each below its title."""
    parts = []
    for group in groups:
        parts += [f"**{markdown_text(title(group))}**", markdown_table(*table(group, columns)).rstrip()]
    notes = note(columns) if columns else note_of(groups)
    return "\n\n".join((*parts, markdown_text(notes))) + "\n" if groups else ""


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    r"""Write a table as GitHub's Markdown, escaped; ``numbers``: right-align all columns but the first.

    >>> print(markdown_table(("a", "b"), [("x|y", "1")]), end="")
    | a | b |
    | --- | ---: |
    | x\|y | 1 |
    """
    rule = ["---", *["---:" if numbers else "---"] * (len(columns) - 1)]
    lines = (map(markdown_text, columns), rule, *(map(markdown_text, row) for row in rows))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def markdown_text(text: str) -> str:
    r"""Escape text for a cell of a Markdown table, so that it is shown literally, on one line.

    >>> markdown_text("a|b_c")
    'a\\|b\\_c'
    """
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}", printable(text))
