"""Audits of several windows in short."""

from dlsched.whatif.audits import in_short


def test_one_window_is_said_as_it_is() -> None:
    """Numbers of all kinds, and words that hold digits."""
    audit = ["Jobs read: 1,234.", "s10 has 5e+06 GPUs, 3.5 % of them free.", "Servers of 8 GPUs."]
    assert in_short([audit]) == audit


def test_windows_that_differ() -> None:
    """Numbers by value, not as text; what only some windows say; words that differ stay apart."""
    audits = [
        ["Left out: 9.", "States: OK (3).", "The jobs ask for 95 GPUs over 86,400 s."],
        [
            "Left out: 10.",
            "States: OK (2), FAILED (1).",
            "The jobs ask for 112.5 GPUs over 86,400 s.",
            "Warning: 113 %.",
        ],
        ["Left out: 1,000.", "States: OK (7).", "The jobs ask for 101 GPUs over 86,400 s.", "Warning: 101 %."],
    ]
    assert in_short(audits) == [
        "Left out: 9 to 1,000.",
        "States: OK (3 to 7) (2 of 3 windows).",
        "The jobs ask for 95 to 112.5 GPUs over 86,400 s.",
        "States: OK (2), FAILED (1) (1 of 3 windows).",
        "Warning: 101 to 113 % (2 of 3 windows).",
    ]
