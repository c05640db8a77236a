"""Words of errors fit a row, whatever the errors do."""

from dlsched.processes.messages import LONGEST_MESSAGE, short, words_of


def test_words_fit_a_row():
    """On one line, printable, and no longer than a row holds."""
    assert short("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert short("half \udc80") == "half \\udc80"
    assert len(short("x" * 10_000_000)) == LONGEST_MESSAGE
    assert len(short("\n" * 5000)) == LONGEST_MESSAGE


def test_an_error_without_text_has_words():
    """Its text may fail, with whatever exception."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    assert words_of(ValueError("wrong")) == "wrong"
    assert words_of(MuteError()) == "its text cannot be had: SystemExit"
