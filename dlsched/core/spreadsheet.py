"""Escaping of CSV cells, so that neither a terminal nor a spreadsheet executes them."""

from dlsched.core.messages import printable


def csv_text(value: object) -> object:
    """Escape a cell of text: spreadsheets take a cell that begins with = + - @ for a formula.

    >>> csv_text("=1+1"), csv_text("-"), csv_text(-2.5)
    ("'=1+1", '-', -2.5)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value[:1] in tuple("=+-@\t\r") and value != "-" else text
