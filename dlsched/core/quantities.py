"""Figures in words for people: numbers, shares and durations, a dash where one is unknown."""


def number(value: float | None) -> str:
    """Write a figure for people: six significant digits, a dash where it is unknown."""
    return "-" if value is None else f"{value:,.2f}" if 1e2 <= abs(value) < 1e15 else f"{value:.6g}"


def percent(value: float | None) -> str:
    """Write a ratio as per cent; a value that is not 0 never looks like 0."""
    if value is None:
        return "-"
    if value == 0:
        return "0 %"
    return f"{100 * value:.3f} %" if value >= 1e-5 else f"{100 * value:.1e} %"


def seconds(value: float | None) -> str:
    """Write a duration."""
    return "-" if value is None else f"{value:.3f} s"
