"""Texts in figures: printable names, units of time, round ticks.

Names come from files. They may hold line ends, control characters, letters that the font lacks, or be very long. What
the font cannot show is written as an escape; dollars are drawn as they are (``figure.canvas`` turns mathematics off).
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache

from dlsched.core.messages import cut, told_apart

LONGEST = 28  # characters of a name that is shown


@cache
def _has_glyph(letter: str) -> bool:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return bool(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_char_index(ord(letter)))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def plain(text: str) -> str:
    r"""Write text on one line, with escapes for characters that are not printable or not in the font.

    >>> print(plain("a\nb $x$"))
    a\nb $x$
    """
    shown = (
        letter if letter.isprintable() and (letter.isascii() or _has_glyph(letter)) else _escape(letter)
        for letter in text
    )
    return "".join(shown)


def short(text: str, longest: int = LONGEST) -> str:
    """Write text plainly, and cut its middle if it is longer than ``longest``.

    >>> short("application-1506638472019-10025", 15)
    'applica…9-10025'
    """
    return cut(plain(text), longest)


def labels(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Return a short label for every name; names that would look the same are numbered.

    >>> labels(["a", "b"])
    {'a': 'a', 'b': 'b'}
    """
    return told_apart({name: short(name, longest) for name in names})


def equal_names(names: Sequence[str], letters: int, lines: int = 2) -> str:
    """Write names of equal pictures as ``a = b``, wrapped to ``lines``; say how many more there are.

    >>> equal_names(["exact", "milp", "equal", "fixed"], 14, 1)
    'exact = 3 more'
    """
    shown = [plain(name).replace(" ", "\N{NO-BREAK SPACE}") for name in names]
    for count in range(len(shown), 0, -1):
        rest = len(shown) - count
        text = " = ".join([*shown[:count], *([f"{rest} more"] if rest else [])])
        wrapped = textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False)
        if len(wrapped) <= lines and max(map(len, wrapped)) <= letters:
            return "\n".join(wrapped)
    return f"{short(shown[0], letters)}" + (f"\n= {len(shown) - 1} more" if len(shown) > 1 else "")


def ticks(least: float, largest: float) -> list[float]:
    """Round numbers within the limits of a logarithmic axis; only powers of ten if these are many; at most 8.

    >>> ticks(1, 12)
    [1.0, 2.0, 5.0, 10.0]
    """
    decades = range(math.floor(math.log10(least)), math.floor(math.log10(largest)) + 1)
    factors: tuple[float, ...] = (
        (1, 1.5, 2, 3, 5, 7) if largest < 10 * least else (1, 2, 5) if len(decades) <= 3 else (1,)
    )
    every = math.ceil(len(decades) / 8)
    return [f * 10.0**d for d in decades[::every] for f in factors if least <= f * 10.0**d <= largest]
