"""Certificate classes: their fields, and how result files write and read them."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_type_hints

from pydantic import Field, ValidationError, create_model
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.instance import Finite, Name, NonNegative
from dlsched.core.messages import located, shown
from dlsched.core.part import STRICT, sparing


@dataclass(frozen=True, slots=True, repr=False)
class _Kind(Brief):
    """Base of all certificates: the kind's name in files, and the certificate as data."""

    kind: ClassVar[str]
    arithmetic: ClassVar[str] = "exact"
    """Arithmetic that verifies the certificate."""

    def as_data(self) -> dict[str, object]:
        """Return the data of result files: kind first, value last, without empty optional fields."""
        data: dict[str, object] = {"kind": self.kind}
        for name, optional in _fields(type(self)).items():
            value = getattr(self, name)
            if value or not optional:
                data[name] = dict(value) if isinstance(value, Mapping) else value
        return data


@dataclass(frozen=True, slots=True, repr=False)
class PriceCertificate(_Kind):
    """A price per unit of the shared resource, and the bound it proves."""

    kind = "price"
    price: Finite
    value: Finite


@dataclass(frozen=True, slots=True, repr=False)
class DualsCertificate(_Kind):
    """Multipliers of the rows of a named formulation's linear relaxation, and the bound they prove."""

    kind = "duals"
    formulation: Name
    rows: Mapping[str, Finite] = field(hash=False)
    value: Finite


@dataclass(frozen=True, slots=True, repr=False)
class SrptCertificate(_Kind):
    """Seconds of each job on one machine, optionally its least seconds alone, and the bound they prove."""

    kind = "srpt"
    sizes: Mapping[str, NonNegative] = field(hash=False)
    value: Finite
    lengths: Mapping[str, NonNegative] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, repr=False)
class LengthsCertificate(_Kind):
    """Seconds that each job needs at least from its release to its end, and the bound they prove."""

    kind = "lengths"
    lengths: Mapping[str, NonNegative] = field(hash=False)
    value: Finite


@dataclass(frozen=True, slots=True, repr=False)
class PricesCertificate(_Kind):
    """Prices of a unit of the shared resource over time, and the bound they prove.

    ``prices[k]``, in seconds of the objective per unit and second, holds from ``breakpoints[k]`` to
    ``breakpoints[k + 1]`` on the family's clock (seconds, or numbers of ticks); before the first and after
    the last breakpoint the price is 0. ``blocks`` adds, by the size of a block of units, a price for each
    whole block held.
    """

    kind = "prices"
    arithmetic = "exact or safely rounded"
    breakpoints: Annotated[tuple[Finite, ...], Field(strict=False)]
    prices: Annotated[tuple[NonNegative, ...], Field(strict=False)]
    value: Finite
    blocks: Mapping[str, Annotated[tuple[NonNegative, ...], Field(strict=False)]] = field(
        default_factory=dict, hash=False
    )


class WindowData(TypedDict):
    """A window from ``from_s`` to ``until_s``, the one job that may touch it, and seconds of the objective by job."""

    from_s: Finite
    until_s: Finite
    touching: Name
    charges: Mapping[str, NonNegative]


@dataclass(frozen=True, slots=True, repr=False)
class PackingCertificate(_Kind):
    """Prices of single jobs over time, and the bound that they prove with what fits together.

    ``rates[job][k]``, in seconds of the objective per second, holds from ``breakpoints[k]`` to ``breakpoints[k + 1]``, seconds
    on the instance's clock; otherwise the rate is 0. A window charges the job that may touch it if it runs at some time in
    it, and every other job if it runs throughout.
    """

    kind = "packing"
    breakpoints: Annotated[tuple[Finite, ...], Field(strict=False)]
    rates: Mapping[str, Annotated[tuple[NonNegative, ...], Field(strict=False)]] = field(hash=False)
    windows: Annotated[tuple[WindowData, ...], Field(strict=False)] = field(hash=False)
    value: Finite


class BranchData(TypedDict, total=False):
    """Job ``first`` completes no later than job ``then``, or by the time ``by_s``, an arrival; or the multipliers of a leaf."""

    first: Name
    then: Name
    by_s: Finite
    multipliers: Annotated[tuple[NonNegative, ...], Field(strict=False)]


@dataclass(frozen=True, slots=True, repr=False)
class CompletionsCertificate(_Kind):
    """A tree of branches over who completes when, with multipliers in its leaves, and the bound that they prove.

    ``tree`` is in preorder: a branch is followed by the nodes that keep it, then by those that keep its opposite.
    """

    kind = "completions"
    tree: Annotated[tuple[BranchData, ...], Field(strict=False)] = field(hash=False)
    value: Finite


AnyCertificate: TypeAlias = (
    PriceCertificate
    | DualsCertificate
    | SrptCertificate
    | LengthsCertificate
    | PricesCertificate
    | PackingCertificate
    | CompletionsCertificate
)
KINDS: dict[str, type[AnyCertificate]] = {each.kind: each for each in get_args(AnyCertificate)}


def certificate_from(data: Mapping[str, object]) -> AnyCertificate:
    """Read a certificate; InputError: the kind is unknown, or a field is missing or wrong."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(where="certificate.kind", found=shown(kind), allowed=", ".join(KINDS))
    try:
        read = _validator(kind).validate_python(data)
    except ValidationError as error:
        raise InputError(located(error, below=("certificate",))) from None
    return KINDS[kind](**{name: getattr(read, name) for name in _fields(KINDS[kind])})


def _fields(kind: type[_Kind]) -> dict[str, bool]:
    """Fields in the order of files, and whether they may be left out."""
    ordered = sorted(fields(kind), key=lambda each: each.name == "value")
    return {each.name: each.default_factory is not MISSING for each in ordered}


@cache
def _validator(kind: str) -> SchemaValidator:
    """Return a strict validator of the fields of a kind."""
    types = get_type_hints(KINDS[kind], include_extras=True)
    entries: dict[str, Any] = {"kind": (Literal[kind], ...)}
    for name, optional in _fields(KINDS[kind]).items():
        entries[name] = (types[name], {} if optional else ...)
    return sparing(create_model(kind, __config__=STRICT, **entries))
