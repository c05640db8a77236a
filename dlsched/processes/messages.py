"""Messages of processes and of users' code, cut to the length that a row of a study holds."""

from dlsched.core.messages import printable

LONGEST_MESSAGE = 2000
"""Largest number of characters of a message."""


def short(words: str) -> str:
    """Cut a message to that length, on one line, with unprintable characters escaped."""
    return printable(words[:LONGEST_MESSAGE])[:LONGEST_MESSAGE]


def words_of(error: BaseException) -> str:
    """Return the text of an exception; even converting it to text may fail."""
    try:
        return short(str(error))
    except BaseException as another:
        return f"its text cannot be had: {type(another).__name__}"
