"""MIG instances fit where NVIDIA's tables of placements allow it, and go where its driver puts them."""

import pytest

from dlsched.cluster.slicing import GEOMETRIES, Geometry, Profile

A100 = GEOMETRIES["A100-40GB"]


def create(profiles: list[str], used: int = 0, *, geometry: Geometry = A100) -> list[int | None]:
    """Starts of instances that are created one after another, each at its first free start; None: there is none."""
    starts: list[int | None] = []
    for name in profiles:
        profile = geometry.profiles[name]
        free = (
            (start, mask) for start, mask in zip(profile.starts, geometry.masks(name), strict=True) if not mask & used
        )
        start, mask = next(free, (None, 0))
        used |= mask
        starts.append(start)
    return starts


def fits(geometry: Geometry, profiles: list[str], used: frozenset[int] = frozenset()) -> bool:
    """Whether some choice of starts has no two instances share a slot: every choice is tried, with sets of slots."""
    if not profiles:
        return True
    size, starts = geometry.profiles[profiles[0]]
    taken = (frozenset(range(start, start + size)) for start in starts)
    return any(not used & slots and fits(geometry, profiles[1:], used | slots) for slots in taken)


@pytest.mark.parametrize(
    ("created", "starts"),
    [
        (["3g.20gb", "1g.5gb", "2g.10gb", "1g.5gb"], [4, 0, 2, 1]),
        (["2g.10gb", *["1g.5gb"] * 5], [4, 6, 0, 1, 2, 3]),
        (["1g.5gb", "2g.10gb", "4g.20gb"], [6, 4, 0]),
        (["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"], [6, 4, 0, None]),
    ],
    ids=["3-1-2-1", "2-1-1-1-1-1", "1-2-4", "no 3 after 1-1-2"],
)
def test_instances_go_where_the_guide_shows_them(created: list[str], starts: list[int | None]) -> None:
    """The examples of the MIG User Guide, among them its known issue that 3g.20gb has to come first."""
    assert create(created) == starts


def test_seven_small_instances_fit_and_no_eighth() -> None:
    """Slot 7 begins no 1g: nvidia-smi creates seven, at 6, 4, 5, 0, 1, 2 and 3."""
    assert create(["1g.5gb"] * 8) == [6, 4, 5, 0, 1, 2, 3, None]


def test_slots_bind_before_compute_slices() -> None:
    """Two 3g have 6 of the 7 compute slices, and all slots; 4g goes with 3g, no two 4g do."""
    assert create(["3g.20gb", "3g.20gb", "1g.5gb"]) == [4, 0, None]
    assert create(["4g.20gb", "3g.20gb"]) == [0, 4]
    assert not fits(A100, ["4g.20gb", "4g.20gb"])
    assert create(["7g.40gb", "1g.5gb"]) == [0, None]
    assert fits(A100, ["1g.10gb"] * 4) and not fits(A100, ["2g.10gb"] * 4)


def test_an_a100_can_be_cut_in_19_ways() -> None:
    """The guide's figure numbers 19 ways to fill it: 6 of the slots 0 to 3, each with 3 of the others, and 7g.40gb."""
    placed = [
        (name, start, frozenset(range(start, start + A100.profiles[name].size)))
        for name in ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
        for start in A100.profiles[name].starts
    ]
    ways, full = [frozenset[tuple[str, int]]()], set()
    while ways:
        way = ways.pop()
        used = frozenset[int]().union(*(slots for name, start, slots in placed if (name, start) in way))
        more = [way | {(name, start)} for name, start, slots in placed if not slots & used]
        ways += more
        full |= set() if more else {way}
    assert len(full) == 19


def test_a_small_instance_in_the_first_slot_leaves_no_4g() -> None:
    """Three slots of the first half are lost to 4g, which begins at slot 0 alone, and half a GPU is left to 3g."""
    assert create(["4g.20gb"], used=0b1) == [None]
    assert create(["3g.20gb"], used=0b1) == [4]
    assert create(["1g.5gb", "4g.20gb"]) == [6, 0]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_tables_are_consistent(name: str) -> None:
    """Instances lie within the slots; as many as NVIDIA counts of a profile fit; compute slices bind nowhere else."""
    geometry = GEOMETRIES[name]
    most = {8: [7, 4, 3, 2, 1, 1], 4: [4, 2, 1]}[geometry.slots]
    assert len(geometry.profiles) == len(most)
    compute = {profile: int(profile[0]) for profile in geometry.profiles}
    slices = compute[[*geometry.profiles][-1]]
    for (profile, (size, starts)), count in zip(geometry.profiles.items(), most, strict=True):
        assert len(set(starts)) == len(starts) == len(geometry.masks(profile))
        assert all(0 <= start <= geometry.slots - size for start in starts)
        assert fits(geometry, [profile] * count)
        assert not fits(geometry, [profile] * (count + 1))
        # So no two instances that share no slot have more compute slices than there are slots with one.
        assert all(compute[profile] <= len(set(range(start, start + size)) & set(range(slices))) for start in starts)


def test_masks_are_the_slots() -> None:
    """By hand: two slots from slot 4, then from slot 0; a profile of another GPU is a KeyError."""
    assert Geometry(8, {"half": Profile(2, (4, 0))}).masks("half") == (0b110000, 0b11)
    with pytest.raises(KeyError):
        A100.masks("1g.6gb")
