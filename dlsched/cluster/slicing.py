"""How NVIDIA cuts a GPU into MIG instances: the slots of memory that each profile takes, and where it may begin.

===========  =========================================================================================================
symbol       meaning
===========  =========================================================================================================
slot         slice of the GPU's memory, 0, 1, ...: 8 of them on most GPUs, 4 on an A30
profile      kind of instance, as ``3g.20gb``: 3 slices of the compute units, 20 GB of memory
start        first slot of an instance, which takes ``size`` slots one after another
mask         set of slots, bit ``s`` for slot ``s``
===========  =========================================================================================================

Instances fit on a GPU if each begins at a start of its profile and no two share a slot: NVML refuses an instance only
"if there is overlap with the already occupied memory slices" (``nvmlDeviceGetGpuInstancePossiblePlacements_v2``). That no
more than the 7 slices of compute units are used follows: slot 7 has none, each profile has at most as many of them as it
takes of the slots 0 to 6 at any start. So 3g + 3g + 1g, of 7 compute slices, does not fit: 3g takes 4 slots.

Profiles with media engines (``+me``) or graphics (``+gfx``) are left out. They take the slots of the profile without, and
some are limited to one a GPU by engines that are no slots.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Profile(NamedTuple):
    """Slots that an instance takes, and those at which it may begin, in the order in which the driver tries them."""

    size: int
    starts: tuple[int, ...]


class Geometry(NamedTuple):
    """Slots of a GPU, and its profiles by name."""

    slots: int
    profiles: Mapping[str, Profile]

    def masks(self, profile: str) -> tuple[int, ...]:
        """Masks of the slots that an instance may take, in the order of starts; KeyError: the GPU has no such profile.

        >>> [f"{mask:08b}" for mask in GEOMETRIES["A100-40GB"].masks("3g.20gb")]
        ['11110000', '00001111']
        """
        size, starts = self.profiles[profile]
        return tuple(((1 << size) - 1) << start for start in starts)

    def unusable(self, used: int, profiles: Iterable[str]) -> int:
        """How many slots are free that no instance of the profiles can take beside the mask ``used``; KeyError as ``masks``.

        >>> [GEOMETRIES["A100-40GB"].unusable(0b1, [profile]) for profile in ("1g.5gb", "3g.20gb", "4g.20gb")]
        [1, 3, 7]
        """
        reached = used
        for mask in [mask for profile in profiles for mask in self.masks(profile) if not mask & used]:
            reached |= mask
        return self.slots - reached.bit_count()


# Placements: NVIDIA, Multi-Instance GPU User Guide, "Getting Started with MIG", output of ``nvidia-smi mig -lgipp``.
# The driver's order: creations there and the placements that ``-lgi`` then lists. 3g goes to 4 (``-cgi 9,19,14,19``), 2g
# to 4 before 0 and 1g to 6 before 4 (``-cgi 19,19,14,9``, which leaves 3g no start), then to 0, 1, 2, 3
# (``-cgi 14,19,19,19,19,19``). 2g to 0 before 2 and 1g to 5 before 0: identifiers of instances that others report of
# ``-cgi 14,14,14,20`` and of seven 1g. Nothing tells the order of 1g with the memory of 2g: ascending. The guide's first
# example seems to put 3g at 0 before 4: it lists the instances of a board that numbers them by swapped halves.
_EIGHT: Final = (
    Profile(1, (6, 4, 5, 0, 1, 2, 3)),
    Profile(2, (0, 2, 4, 6)),
    Profile(2, (4, 0, 2)),
    Profile(4, (4, 0)),
    Profile(4, (0,)),
    Profile(8, (0,)),
)
# ``nvidia-smi mig -lgipp`` on an A30 with driver 535, where 1g went to 0, then to 1, and 2g to 2.
_FOUR: Final = (Profile(1, (0, 1, 2, 3)), Profile(2, (0, 2)), Profile(4, (0,)))


def _geometry(profiles: tuple[Profile, ...], names: str) -> Geometry:
    """Geometry whose last profile is the whole GPU."""
    return Geometry(profiles[-1].size, MappingProxyType(dict(zip(names.split(), profiles, strict=True))))


# Names of profiles: MIG User Guide, "Supported MIG Profiles". Placements of others than the A100 and the A30:
# H100-80GB, B200-180GB: NVIDIA/k8s-test-infra, ``mock-nvml-config-h100.mig.yaml`` and ``-b200.mig.yaml``, from the guide;
# H100-94GB: ``nvidia-smi mig -lgipp`` on an H100 NVL with driver 560; H200-141GB: ``migPlacementH200`` of
# openshift/instaslice-operator.
GEOMETRIES: Final[Mapping[str, Geometry]] = MappingProxyType(
    {
        "A30-24GB": _geometry(_FOUR, "1g.6gb 2g.12gb 4g.24gb"),
        "A100-40GB": _geometry(_EIGHT, "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"),
        "A100-80GB": _geometry(_EIGHT, "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
        "H100-80GB": _geometry(_EIGHT, "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
        "H100-94GB": _geometry(_EIGHT, "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"),
        "H200-141GB": _geometry(_EIGHT, "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"),
        "B200-180GB": _geometry(_EIGHT, "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"),
    }
)
"""Geometries by GPU and memory: those whose placements a source gives."""
