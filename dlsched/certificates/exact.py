"""Exact sums of rational numbers, and rounding of rational numbers to floats above or below them."""

import math
from collections.abc import Iterable
from fractions import Fraction

Number = int | Fraction


def exact_sum(numbers: Iterable[Number]) -> Fraction:
    """Sum of rationals, pairwise so that numerators stay short."""
    terms = [Fraction(number) for number in numbers]
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [first + second for first, second in zip(terms[0::2], terms[1::2], strict=False)] + odd
    return terms[0] if terms else Fraction(0)


def rounded_down(number: Fraction) -> float:
    """Return the largest float that is not above ``number``.

    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10)
    True
    """
    nearest = float(number)
    return math.nextafter(nearest, -math.inf) if nearest > number else nearest


def rounded_up(number: Fraction) -> float:
    """Return the least float that is not below ``number``.

    >>> rounded_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    return 0.0 - rounded_down(-number)


def root_below(square: Fraction) -> Fraction:
    """Return a rational number whose square is at most ``square``, and close to it."""
    shift = max(0, 64 - square.numerator.bit_length() + square.denominator.bit_length()) // 2 * 2
    return Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
