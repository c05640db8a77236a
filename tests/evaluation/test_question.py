"""Audits of several windows in short."""

from dlsched.evaluation.question import in_short
from dlsched.traces.queue import Example, Sentence, figure, listed


def test_one_window_is_said_as_it_is() -> None:
    """Sentences that know their figures, and texts that do not."""
    audit = [
        Sentence("Jobs read: ", figure(1234), "."),
        "s10 has 5e+06 GPUs, 3.5 % of them free.",
        "Servers of 8 GPUs.",
    ]
    assert in_short([audit]) == audit


def test_windows_that_differ() -> None:
    """Figures by value, not as text; what only some windows say; words that differ stay apart."""

    def left_out(count: int) -> Sentence:
        return Sentence("Left out: ", figure(count), ".")

    def states(**counts: int) -> Sentence:
        return Sentence("States: ", *listed((state, count, "") for state, count in counts.items()), ".")

    def asked(gpus: float) -> Sentence:
        return Sentence("The jobs ask for ", figure(gpus, ",g"), " GPUs over ", figure(86400), " s.")

    def warning(percent: float) -> Sentence:
        return Sentence("Warning: ", figure(percent, ",.0f"), " %.", warns=True)

    audits = [
        [left_out(9), states(OK=3), asked(95)],
        [left_out(10), states(OK=2, FAILED=1), asked(112.5), warning(113.4)],
        [left_out(1000), states(OK=7), asked(101), warning(101.2)],
    ]
    short = in_short(audits)
    assert short == [
        "Left out: 9 to 1,000.",
        "States: OK (3 to 7) (2 of 3 windows).",
        "The jobs ask for 95 to 112.5 GPUs over 86,400 s.",
        "States: OK (2), FAILED (1) (1 of 3 windows).",
        "Warning: 101 to 113 % (2 of 3 windows).",
    ]
    assert [sentence for sentence in short if sentence.warns] == short[4:]


def test_numbers_in_names_are_no_figures() -> None:
    """States and arrays are told apart by their names, though they end in numbers; equal texts are said once."""
    audits = [
        [Sentence(f"State exit {code}: ", figure(value, ",.1f"), ".")]
        for code, value in ((1, 2.04), (1, 1.96), (9, 2.0))
    ]
    assert in_short(audits) == ["State exit 1: 2.0 (2 of 3 windows).", "State exit 9: 2.0 (1 of 3 windows)."]


def test_of_examples_the_first_is_said() -> None:
    """What breaks a rule is another job in every window: that there are others is said."""
    audits = [[Sentence("It does not fit: ", Example(f"job {name}"), ".")] for name in "aab"]
    assert in_short(audits) == ["It does not fit: job a, and others."]
    assert in_short(audits[:2]) == ["It does not fit: job a."]
