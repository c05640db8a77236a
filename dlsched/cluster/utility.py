"""The kinds of utility mu(x) of a job's progress x.

mu is that of x as a float, and of a sigmoid's power as a float. Floats of it are off by less than a relative 2**-50 and, for
a sigmoid, ``error``, 2**-49 of its height.
"""

import math
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from dlsched.cluster.network import Amount, Size
from dlsched.core.instance import STRICT

Floats = npt.NDArray[np.float64]


class _Utility(BaseModel):
    model_config = STRICT
    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind} | dict(fields(self))

    @property
    def concave(self) -> bool:
        """Whether it is concave from 0 on."""
        return True

    @property
    def error(self) -> float:
        """What floats of it are off by, beyond a relative 2**-50."""
        return 0.0


class Sqrt(_Utility):
    """scale * sqrt(x)."""

    kind: Literal["sqrt"] = "sqrt"
    scale: Size

    def at(self, x: float) -> float:
        """The utility of x."""
        return self.scale * math.sqrt(x)

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return self.scale * np.sqrt(x)


class Log(_Utility):
    """scale * ln(1 + x)."""

    kind: Literal["log"] = "log"
    scale: Size

    def at(self, x: float) -> float:
        """The utility of x."""
        return self.scale * math.log1p(x)

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        return self.scale * np.log1p(x)


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

    @property
    def error(self) -> float:
        """What floats of it are off by, beyond a relative 2**-50."""
        return self.height * 2.0**-49

    def at(self, x: float) -> float:
        """The utility of x."""
        power = self.steepness * (x - self.midpoint)
        part = math.exp(-abs(power))
        return self.height * ((1.0 if power >= 0 else part) / (1 + part))

    def values(self, x: Floats) -> Floats:
        """The utility of every x."""
        power = self.steepness * (x - self.midpoint)
        part = np.exp(-np.abs(power))
        values: Floats = self.height * np.where(power >= 0, 1.0, part) / (1 + part)
        return values


Utility = Annotated[Sqrt | Log | Capped | Sigmoid, Field(discriminator="kind")]
