"""Readers of result files, complete (``dlsched/result/1``) and bare ones (``{"solution": ...}``)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ValidationError

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.gap import rounding, tolerance
from dlsched.core.instance import Finite, InstanceFile, Name, NonNegative
from dlsched.core.limits import Limits
from dlsched.core.messages import located
from dlsched.core.part import STRICT, sparing
from dlsched.core.result import InstanceId, Result, Solution
from dlsched.core.status import Sense, TerminationStatus


@dataclass(frozen=True, slots=True)
class _Data:
    """Data of a solution that only its family can read."""

    data: Mapping[str, object]

    def as_data(self) -> dict[str, object]:
        return dict(self.data)


class _Strict(BaseModel):
    model_config = STRICT


class _Instance(_Strict):
    name: Name
    sha256: Name


class _Limits(_Strict):
    time_s: NonNegative | None = None
    nodes: int | None = None
    threads: int = 1


class _Complete(_Strict):
    format: Literal["dlsched/result/1"]
    family: Name
    instance: _Instance
    method: Name
    status: Literal[tuple(map(str, TerminationStatus))]  # type: ignore[valid-type]
    sense: Literal[tuple(map(str, Sense))]  # type: ignore[valid-type]
    objective: Finite | None
    constant: Finite = 0.0
    bound: Finite | None
    bound_source: str | None = None
    gap: NonNegative | None
    runtime_s: NonNegative
    solver: str | None
    seed: int | None
    limits: _Limits
    certificate: dict[str, object] | None
    solution: dict[str, object] | None
    figures: dict[str, Finite] = {}
    message: str = ""
    of_model: bool = False


class _Named(_Strict):
    name: Name | None = None
    sha256: Name | None = None


class _Bare(_Strict):
    solution: dict[str, object]
    instance: Name | _Named | None = None
    method: Name | None = None
    objective: Finite | None = None


_BARE, _COMPLETE = sparing(_Bare), sparing(_Complete)


@dataclass(frozen=True, slots=True)
class Claim:
    """Content of a result file: its result if it is complete, in any case the solution, objective and instance it names."""

    solution: object
    objective: float | None
    method: str | None
    result: Result[Solution] | None
    instance: InstanceId | None = None

    def of(self, instance: InstanceFile) -> bool | None:
        """Whether the claim belongs to that instance; None if it does not say."""
        if self.result is not None:
            return bool(self.result.family == instance.family and self.result.instance.sha256 == instance.sha256)
        if self.instance is None:
            return None
        return self.instance.name in ("", instance.name) and self.instance.sha256 in ("", instance.sha256)


def claim_from(data: Json, path: str | os.PathLike[str]) -> Claim:
    """Validate the content of a result file; ``path`` is for messages.

    InputError: the data are neither a complete result nor a bare solution, or they contradict themselves.
    """
    name = os.fspath(path)
    if not isinstance(data, dict):
        raise InputError(where=f"{name}: the file", found="no object", allowed="a result")
    try:
        if "format" not in data:
            bare: _Bare = _BARE.validate_python(data)
            return Claim(bare.solution, bare.objective, bare.method, None, _named(bare.instance))
        complete: _Complete = _COMPLETE.validate_python(data)
        result = _result(complete)
        if complete.gap is not None and not _same_gap(complete.gap, result):
            raise ValueError(f"gap {complete.gap!r}, which does not follow from objective and bound")
    except ValidationError as error:
        raise InputError(f"{name}: {located(error, () if 'format' in data else ('instance',))}") from None
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except ValueError as error:
        raise InputError(
            where=name, found=f"a result that contradicts itself ({error})", allowed="one that does not"
        ) from None
    return Claim(complete.solution, complete.objective, complete.method, result)


def _named(name: str | _Named | None) -> InstanceId | None:
    if isinstance(name, _Named):
        return InstanceId(name.name or "", name.sha256 or "") if name.name or name.sha256 else None
    return None if name is None else InstanceId(name, "")


def _same_gap(claimed: float, result: Result[Solution]) -> bool:
    """Whether a gap follows from objective and bound, up to the rounding of their difference."""
    if result.gap is None or result.objective is None or result.bound is None:
        return False
    size = max(abs(result.objective - result.constant), abs(result.bound - result.constant))
    off = rounding(result.objective, result.bound, result.constant) / size if size > 0 else 0.0
    return abs(claimed - result.gap) <= tolerance(claimed, result.gap) + off


def _result(file: _Complete) -> Result[Solution]:
    from dlsched.certificates.kinds import certificate_from  # brings NumPy, which `solve --help` need not wait for

    same = ("family", "method", "objective", "constant", "bound", "runtime_s", "solver", "seed", "figures", "message")
    return Result(
        **{name: getattr(file, name) for name in same},
        instance=InstanceId(file.instance.name, file.instance.sha256),
        status=TerminationStatus(file.status),
        sense=Sense(file.sense),
        bound_source=file.bound_source if file.bound_source is not None or file.bound is None else "unnamed",
        limits=Limits(**dict(file.limits)),
        certificate=None if file.certificate is None else certificate_from(file.certificate),
        solution=None if file.solution is None else _Data(file.solution),
        of_model=file.of_model,
    )
