"""Exports of a study: rows as CSV, JSON and Parquet, tables of figures as LaTeX (with booktabs) and Markdown.

Rows have the columns of ``rows.EXPORTED``, which are fixed. They are written one by one, so that studies of
any size can be exported; a file appears whole or not at all.
"""

import codecs
import json
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import BinaryIO

from dlsched.core.display import write_csv
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import whole_file, write_text
from dlsched.core.imports import needing
from dlsched.core.messages import printable
from dlsched.core.quantities import AT_MOST
from dlsched.study.figures.summary import FILES, Group, summarise
from dlsched.study.figures.tables import KEYS, RATIOS, note, note_of, paper_keys_of, table, title
from dlsched.study.rows import COLUMNS, EXPORTED, Row

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
    labels: Counter[str] = Counter()
    tables = []
    # Labels are of letters and digits, numbered where two groups would share one.
    for group in groups:
        name = "-".join((group.family, "" if group.preset == FILES else group.preset, group.objective))
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "study"
        labels[slug] += 1
        label = slug if labels[slug] == 1 else f"{slug}-{labels[slug]}"
        tables.append(_latex_table(group, columns or paper_keys_of(group), label))
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
    """Escape text for LaTeX, so that it is printed literally, on one line.

    Latin-1 letters stay; other characters that pdfLaTeX cannot print without packages become Python escapes.
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
    """Write a table as GitHub's Markdown, escaped; ``numbers``: right-align all columns but the first."""
    rule = ["---", *["---:" if numbers else "---"] * (len(columns) - 1)]
    lines = (map(markdown_text, columns), rule, *(map(markdown_text, row) for row in rows))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def markdown_text(text: str) -> str:
    """Escape text for a cell of a Markdown table, so that it is shown literally, on one line."""
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}", printable(text))


_AT_ONCE = 10_000  # rows of a Parquet row group


def export(
    rows: Iterable[Row],
    form: str,
    path: str | os.PathLike[str] = "-",
    *,
    limit_s: float | None = None,
    columns: Sequence[str] | str | None = None,
) -> None:
    """Write a study to a file (``-``: standard output).

    Parameters
    ----------
    rows
        One row for each cell.
    form
        One of ``FORMATS``: the rows as ``csv``, ``json`` or ``parquet``, tables of figures as ``latex`` or ``markdown``.
    path
        Path of the file.
    limit_s
        Limit of time of a cell in seconds, for the figures.
    columns
        Columns to write, in that order: those of rows, or ``method``, ``answers``, ``proven``, ``mean``, ``shared``,
        ``median``, ``p95``, ``worst``, ``time`` and ``best`` of tables; None: all, ``shared`` where it differs, and in LaTeX
        those that fit a column of a paper.
        ``"all"``: all.

    Raises
    ------
    UsageError
        The format or a column is unknown, or Parquet would go to a terminal.
    InputError
        The file cannot be written, or an integer does not fit into Parquet.
    SolverMissingError
        pyarrow, which Parquet needs, is not installed.
    """
    chosen = require_columns(form, columns)
    if form in TABLES:
        write_text(path, TABLES[form](summarise(list(rows), limit_s), columns and chosen))
        return
    if form == "parquet":
        if os.fspath(path) == "-" and sys.stdout.isatty():
            raise UsageError(where="format", found="parquet for a terminal", allowed="a file (-o FILE) or a pipe")
        with needing("Parquet needs pyarrow", "frames"):
            import pyarrow.parquet  # noqa: F401  asked for before a file is opened
    with whole_file(path) as stream:
        ROWS[form](rows, stream, chosen)


def require_columns(form: str, columns: Sequence[str] | None) -> Sequence[str]:
    """Return the columns to write; UsageError for an unknown format, and for columns that it lacks or that stand twice."""
    if form not in FORMATS:
        raise UsageError(where="format", found=repr(form), allowed=", ".join(FORMATS))
    known = KEYS if form in TABLES else COLUMNS
    if columns in (None, ALL, [ALL], (ALL,)):
        return known
    if not isinstance(columns, Sequence):
        raise UsageError(where="columns", found=repr(columns), allowed="a list of names")
    if not columns:
        raise UsageError(where="columns", found="none", allowed=", ".join(known))
    for name in columns:
        if name not in known or list(columns).count(name) > 1:
            twice = ", twice" if name in known else ""
            raise UsageError(where="columns", found=f"{name!r}{twice}", allowed=f"each once of {', '.join(known)}")
    return tuple(columns)


def _data(row: Row, columns: Sequence[str]) -> dict[str, object]:
    data = row.as_data()
    return {name: data[name] for name in columns}


def _write_csv(rows: Iterable[Row], stream: BinaryIO, columns: Sequence[str]) -> None:
    write_csv(codecs.getwriter("utf-8")(stream), columns, (_data(row, columns).values() for row in rows))


def _write_json(rows: Iterable[Row], stream: BinaryIO, columns: Sequence[str]) -> None:
    """Write a JSON list, one row a line; non-ASCII is escaped, so that no name controls a terminal."""
    separator = "[\n"
    for row in rows:
        stream.write((separator + json.dumps(_data(row, columns), allow_nan=False)).encode("ascii"))
        separator = ",\n"
    stream.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def _write_parquet(rows: Iterable[Row], stream: BinaryIO, columns: Sequence[str]) -> None:
    """Write Parquet with nullable 64-bit integers, floats, and strings."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}
    kinds = {column.name: types[column.kind] for column in EXPORTED}
    schema = pa.schema([(name, kinds[name]) for name in columns])
    remaining = iter(rows)
    with parquet.ParquetWriter(stream, schema) as writer:
        # Row groups are written one by one, so that a study of any size fits into memory.
        while some := [_data(row, columns) for row in islice(remaining, _AT_ONCE)]:
            cells = {name: [_unicode(row[name]) for row in some] for name in columns}
            try:
                writer.write_table(pa.table(cells, schema=schema))
            except OverflowError:
                raise InputError(
                    where="jobs, gpus or seed", found="an integer of more than 64 bits", allowed="64; or csv or json"
                ) from None


def _unicode(value: object) -> object:
    """Escape lone surrogates, which stand for bytes that are no text and which Unicode text cannot hold."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


ROWS: Mapping[str, Callable[[Iterable[Row], BinaryIO, Sequence[str]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json": _write_json,
}
TABLES = {"latex": latex, "markdown": markdown}
ALL = "all"  # stands for all columns
FORMATS = (*ROWS, *TABLES)  # formats of ``dlsched study export --format``
