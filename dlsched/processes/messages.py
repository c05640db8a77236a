"""Words of processes and of foreign code, cut to what a row of a study holds."""

from dlsched.core.messages import printable

LONGEST_MESSAGE = 2000
"""Characters of a message that are kept."""


def short(words: str) -> str:
    """Cut words to what a row holds, on one line, with what no terminal shows escaped."""
    return printable(words[:LONGEST_MESSAGE])[:LONGEST_MESSAGE]


def words_of(error: BaseException) -> str:
    """Text of an exception, of which even that may fail."""
    try:
        return short(str(error))
    except BaseException as another:
        return f"its text cannot be had: {type(another).__name__}"
