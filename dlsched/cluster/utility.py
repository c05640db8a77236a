"""Utility functions mu(x) of a job's progress x: a class for each kind, joined in ``Utility``.

mu is defined for x as a float, and for a sigmoid's power as a float. Computed utilities are off by less than
a relative 2**-50 plus ``error``: for a sigmoid 2**-49 of its height; for an alpha-fair utility 2**-40 of the
largest one asked for, since a power of 1e100, or the difference of two powers, can lose a dozen bits.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from dlsched.cluster.network import Amount, Size
from dlsched.core.elementary import exp, expm1, float_power, log, log1p
from dlsched.core.instance import NonNegative
from dlsched.core.messages import Refused
from dlsched.core.part import Part
from dlsched.core.ranges import MODERATE, Range, Ranges

Floats = npt.NDArray[np.float64]

_WORTH = Range(usual=(1, 100), searched=(1.0, 10.0), of_presets=(0.01, 1000), ties=(1, 8), tested=(0.25, 8))
RANGES: Ranges = {
    "scale": _WORTH,
    "height": _WORTH,
    "slope": _WORTH,
    "cap": Range(searched=(10.0, 100.0), of_presets=(0.01, 1000)),
    "steepness": Range(searched=(2.0, 2.0), ties=(0.5, 1, 3, 50, 2000)),
    "midpoint": Range(searched=(0.5, 6.0), of_presets=(0.01, 1000)),
    "alpha": Range(ties=(1, 0.5, 0), edges=(2, 5, 1), tested=(0, 5), nasty=(0, 0.5, 1, 1 + 1e-9, 2, 5)),
    "shift": Range(ties=(1, 0, 0.25, 0, 3)),
    "curve.b0": Range(ties=(1, 0, 0.1, 10), tested=(0.25, 8)),
    "curve.b1": Range(ties=(1, 0.25, 7.5)),
    "curve.b2": Range(ties=(0, 0.5)),
    "progress[]": Range(ties=(1, 2, 0.5), tested=(0.5, 4)),
    "worth[]": Range(ties=(0, 1, 4), tested=(0.25, 8)),
}
"""Ranges of the numbers of all kinds, in the units of whoever draws them; the family has its own units."""

_LEAST, _MOST = MODERATE


class _Utility(Part):
    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind} | dict(fields(self))

    @property
    def concave(self) -> bool:
        """Whether it is concave from 0 on."""
        return True

    def error(self, most: float) -> float:
        """Absolute error of its float values, beyond a relative 2**-50, for utilities of at most ``most``."""
        del most
        return 0.0

    def at(self, x: float) -> float:
        """Utility of one x."""
        return float(self.values(np.array([x]))[0])

    def values(self, x: Floats) -> Floats:
        """Utility of every x, shape (n,)."""
        raise NotImplementedError

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """Return a utility of about ``height`` at the progress ``most``, for drawn instances and tests."""
        raise NotImplementedError


class Sqrt(_Utility):
    """scale * sqrt(x)."""

    kind: Literal["sqrt"] = "sqrt"
    scale: Size

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return self.scale * np.sqrt(x)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One that is worth ``height`` at the progress ``most``."""
        return cls(scale=height / float(np.sqrt(most)))


class Log(_Utility):
    """scale * ln(1 + x)."""

    kind: Literal["log"] = "log"
    scale: Size

    def at(self, x: float) -> float:
        """The utility of x."""
        return self.scale * log1p(x)

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return self.scale * log1p(x)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One that is worth ``height`` at the progress ``most``."""
        return cls(scale=height / float(log1p(most)))


class Capped(_Utility):
    """min(slope * x, cap)."""

    kind: Literal["capped"] = "capped"
    slope: Size
    cap: Size

    def at(self, x: float) -> float:
        """The utility of x."""
        return min(self.slope * x, self.cap)

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return np.minimum(self.slope * x, self.cap)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One that is worth ``height`` at the progress ``most``, and not before."""
        return cls(slope=height / most, cap=height)


class Sigmoid(_Utility):
    """height / (1 + exp(-steepness (x - midpoint))): convex up to the midpoint, concave from there."""

    kind: Literal["sigmoid"] = "sigmoid"
    height: Size
    steepness: Size
    midpoint: Amount

    @property
    def concave(self) -> bool:
        """Whether it is concave from 0 on."""
        return self.midpoint == 0

    def error(self, most: float) -> float:
        """Absolute error of its float values, beyond a relative 2**-50."""
        del most
        return self.height * 2.0**-49

    def at(self, x: float) -> float:
        """The utility of x."""
        # exp only of a negative power, so that it cannot overflow; the two branches are equal in exact arithmetic.
        power = self.steepness * (x - self.midpoint)
        part = exp(-abs(power))
        return self.height * ((1.0 if power >= 0 else part) / (1 + part))

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        power = self.steepness * (x - self.midpoint)
        part = exp(-np.abs(power))
        return self.height * np.where(power >= 0, 1.0, part) / (1 + part)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One with its midpoint half-way to ``most``, where it is worth nearly ``height``."""
        return cls(height=height, steepness=20 / most, midpoint=most / 2)


class AlphaFair(_Utility):
    """scale ((x + shift)^(1 - alpha) - shift^(1 - alpha)) / (1 - alpha), for alpha = 1 scale ln((x + shift) / shift).

    alpha = 0 is linear, 1 proportional fairness; the larger alpha, the more the least counts (Mo and Walrand 2000). shift > 0
    where alpha >= 1.
    """

    kind: Literal["alpha_fair"] = "alpha_fair"
    alpha: NonNegative
    scale: Size
    shift: Amount = 0.0

    @model_validator(mode="after")
    def _finite(self) -> Self:
        if self.alpha >= 1 and self.shift == 0:
            raise Refused("0", "a number > 0 where alpha >= 1", "shift")
        if self.alpha > 1:  # it never reaches scale shift^(1 - alpha) / (alpha - 1)
            power = self.alpha - 1
            limit = (log(self.scale) - log(power) - power * log(self.shift)) / log(10)
            if not -100 <= limit <= 100:
                allowed = "fields by which a utility grows up to a number from 1e-100 to 1e100"
                raise Refused(f"a limit of 1e{limit:.0f}", allowed, "alpha")
        return self

    def error(self, most: float) -> float:
        """Absolute error of its float values, beyond a relative 2**-50, for utilities of at most ``most``."""
        return most * 2.0**-40

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        power = 1.0 - self.alpha
        if self.shift == 0:
            return self.scale * float_power(x, power) / power
        # log1p and expm1 keep the digits that the difference of two powers would lose.
        grown = log1p(x / self.shift)
        if power == 0:
            return self.scale * grown
        return self.scale * float_power(self.shift, power) * (expm1(power * grown) / power)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One with alpha = 1 that is worth ``height`` at the progress ``most``."""
        return cls(alpha=1.0, scale=height / log(5.0), shift=most / 4)


class FallingLoss(Part):
    """loss(x) = 1 / (b0 x + b1) + b2, as ``cluster.curve_fits`` fits it; b1 > 0, so that loss(0) is finite."""

    b0: Amount
    b1: Size
    b2: Amount = 0.0


class Loss(_Utility):
    """scale (loss(0) - loss(x)): the decrease of the loss; work that does not lower it is worth nothing."""

    kind: Literal["loss"] = "loss"
    scale: Size
    curve: FallingLoss

    @model_validator(mode="after")
    def _finite(self) -> Self:
        if not _LEAST <= self.scale / self.curve.b1 <= _MOST:
            allowed = "scale / b1, the most that it can be worth, from 1e-100 to 1e100"
            raise Refused(f"{self.scale / self.curve.b1}", allowed, "scale")
        return self

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        fallen = self.curve.b0 * x
        return self.scale / self.curve.b1 * (fallen / (fallen + self.curve.b1))

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One that is worth ``height`` at the progress ``most``."""
        return cls(scale=height * 1.25, curve=FallingLoss(b0=4 / most, b1=1.0))


class Table(_Utility):
    """Linear between points (progress, worth), flat after the last; neither falls, and progress begins with 0."""

    kind: Literal["table"] = "table"
    progress: Annotated[tuple[Amount, ...], Field(strict=False, min_length=1)]
    worth: Annotated[tuple[Amount, ...], Field(strict=False, min_length=1)]

    if TYPE_CHECKING:

        def __init__(self, *, progress: Sequence[float], worth: Sequence[float]) -> None: ...

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if len(self.worth) != len(self.progress):
            raise Refused(f"{len(self.worth)} numbers", f"{len(self.progress)}, as many as progress", "worth")
        if self.progress[0] != 0:
            raise Refused(f"{self.progress[0]}", "0", "progress", 0)
        for index, (before, after) in enumerate(pairwise(self.progress), start=1):
            if after <= before:
                raise Refused(f"{after}", f"a number > {before}", "progress", index)
        for index, (before, after) in enumerate(pairwise(self.worth), start=1):
            if after < before:
                raise Refused(f"{after}", f"a number >= {before}", "worth", index)
        return self

    @property
    def concave(self) -> bool:
        """Whether it is concave from 0 on."""
        points = list(zip(map(Fraction, self.progress), map(Fraction, self.worth), strict=True))
        slopes = [(y - b) / (x - a) for (a, b), (x, y) in pairwise(points)]
        return all(before >= after for before, after in pairwise(slopes))

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return np.interp(x, self.progress, self.worth)

    @classmethod
    def sized(cls, most: float, height: float) -> Self:
        """One that is worth nothing up to half of ``most``, and ``height`` there."""
        return cls(progress=(0.0, most / 2, most), worth=(0.0, 0.0, height))


Utility = Annotated[Sqrt | Log | Capped | Sigmoid | AlphaFair | Loss | Table, Field(discriminator="kind")]
KINDS: dict[str, type[_Utility]] = {each.model_fields["kind"].default: each for each in get_args(get_args(Utility)[0])}
"""The classes by their kinds."""
