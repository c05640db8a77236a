"""A campaign against the bounds: small streams, whose optimum at ticks is found by trying all, and every policy.

On every stream, with ticks and without, no bound may be above any stream that anything finds: area, length, the prices that
were searched for, prices drawn at random, and prices that were changed to deceive. Run with ``-s`` it prints what was counted.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dlsched.certificates import PricesCertificate
from dlsched.elastic_stream import Instance, area, check, infeasible, length, objective, simulate
from dlsched.elastic_stream.bounds import prices
from dlsched.elastic_stream.certificate import verify
from dlsched.testing import brute_force_stream

from .lone_jobs import random_prices
from .nasty import nasty
from .streams import POLICIES

BLOCK = 500  # streams of a part of the long campaign
TICK = 8.0


def small_stream(generator, weights):
    """One to three jobs: tables that are not monotone, counts above the units, no work, early ends, pauses, ties."""
    units = int(generator.integers(1, 5))
    jobs = []
    for index in range(int(generator.integers(1, 4))):
        counts = generator.choice(np.arange(1, units + 2), size=int(generator.integers(1, 4)))
        table = {int(count): float(generator.choice([2.0, 5.0, 8.0, 10.5, 12.0, 16.0, 24.0, 30.0])) for count in counts}
        if min(table) > units:
            table[1] = 20.0
        arrival = generator.choice([0.0, 0.0, TICK, 2 * TICK, float(generator.integers(0, 30)), 3 * generator.random()])
        jobs.append(
            {
                "id": f"j{index}",
                "arrival_s": float(arrival),
                "epochs": float(generator.choice([0.0, 0.5, 1.0, 1.0, 1.0, 2.0])),
                "epoch_time_s": table,
                "restart_s": float(generator.choice([0.0, 0.0, 0.5, 3.0, TICK - 1])),
                "stops_at": float(generator.choice([1.0, 1.0, 0.5, 0.3])),
                "weight": weights[index],
            }
        )
    jobs[0]["epochs"] = jobs[0]["epochs"] or 1.0  # no prices are looked for where nobody has work
    return Instance(name="small", units=units, tick_s=TICK, jobs=jobs)


def without_ticks(instance):
    """The same jobs, which may be given units at any time."""
    return instance.model_copy(update={"tick_s": None})


def streams_of(instance):
    """What every policy does, checked."""
    found = [simulate(instance, make()) for make in POLICIES.values()]
    assert not any(check(instance, stream) for stream in found)
    return found


def forged(certificate, generator):
    """Certificates that say something else: prices and breakpoints moved, scaled, mixed, made extreme."""
    times, steps, blocks = np.array(certificate.breakpoints), np.array(certificate.prices), certificate.blocks
    yield times, steps * generator.choice([0.5, 1.5, 10.0]), blocks
    moved = times * generator.choice([2.0, 3.0]) - generator.integers(0, 4)
    if (np.diff(moved) > 0).all():  # late clocks round them together
        yield moved, steps, blocks
    yield times, generator.permutation(steps), blocks
    yield (
        times,
        np.where(generator.random(len(steps)) < 0.3, generator.choice([0.0, 1e300, 1e-300, 40.0]), steps),
        blocks,
    )
    yield (
        times,
        steps,
        {size: [price * generator.choice([0.0, 2.0]) for price in given] for size, given in blocks.items()},
    )


def broken(certificate):
    """Lists that are no prices."""
    times, steps = certificate.breakpoints, certificate.prices
    yield times, (*steps, 1.0)
    yield times[::-1], steps
    yield times, (-1e-300, *steps[1:])
    yield times, (float("nan"), *steps[1:])
    yield (*times[:-1], float("inf")), steps
    yield (times[0], *times), (0.0, *steps)


def by_slot(instance, generator):
    """Prices of slots, and of blocks, drawn at random."""
    times = np.unique(generator.integers(-2, 12, size=int(generator.integers(2, 9))))
    times = times if len(times) > 1 else np.array([0, 3])
    scale = generator.choice([0.02, 0.2, 1.0, 10.0, 1e6])

    def drawn():
        return np.round(scale * generator.random(len(times) - 1) * (generator.random(len(times) - 1) < 0.8), 3).tolist()

    return times.astype(float), drawn(), {str(size): drawn() for size in range(2, instance.units + 1) if size % 2 == 0}


def attack(instance, known, lowest, generator, counted):
    """Hold all bounds of a stream against the least mean flow time known; ``lowest`` leaves room for the rounding of sums."""
    of = "any time" if instance.tick_s is None else "ticks"
    for certificate in (area(instance), length(instance)):
        assert Fraction(certificate.value) <= verify(instance, certificate) <= lowest, (of, certificate, instance)
        counted[f"{certificate.kind}, {of}"] += 1
    searched = prices(instance, known=known, rounds=6)
    proven = verify(instance, searched)
    assert searched.value <= proven <= lowest, (of, searched, instance)
    counted[f"prices, {of}"] += 1
    random = by_slot(instance, generator) if instance.tick_s else (*random_prices(instance, generator), {})
    for times, steps, blocks in (random, *forged(searched, generator)):
        value = verify(instance, PricesCertificate(tuple(times), tuple(steps), 0.0, blocks))
        assert value <= lowest, (of, times, steps, blocks, instance)
        counted["other prices"] += 1
    for factor in (1e-6, 0.1, 10.0):
        claimed = float(proven) * (1 + factor) + 1e-6
        assert verify(instance, replace(searched, value=claimed)) < claimed
        counted["forged values refused"] += 1
    for times, steps in broken(searched) if len(searched.prices) > 1 else ():
        with pytest.raises(ValueError, match=r"breakpoint|price"):
            verify(instance, PricesCertificate(tuple(times), tuple(steps), 0.0))
        counted["broken lists refused"] += 1
    others = max(area(instance).value, length(instance).value)
    counted[f"gap of prices, {of}"] += 100 * float(1 - proven / lowest) if lowest else 0.0
    counted[f"gap of area and length, {of}"] += 100 * float(1 - Fraction(others) / lowest) if lowest else 0.0


def attack_both(instance, generator, counted):
    """A stream with ticks, whose optimum is below every policy, and without, where that optimum is one more stream."""
    loose = without_ticks(instance)
    found = brute_force_stream(instance)
    assert found is not None
    optimum, stream = found
    slotted, free = streams_of(instance), [stream, *streams_of(loose)]
    assert not check(loose, stream)
    assert optimum <= min(objective(instance, one) for one in slotted) * (1 + 1e-12)
    best = min(free, key=lambda one: objective(loose, one))
    room = 1 + Fraction(1e-12)
    attack(loose, best, Fraction(objective(loose, best)) * room, generator, counted)
    attack(instance, slotted[0], Fraction(optimum) * room, generator, counted)


def campaign(number, seed, weights=(1.0, 1.0, 1.0)):
    """Attack that many streams and print what was counted."""
    counted: Counter[str] = Counter()
    for index in range(number):
        generator = np.random.default_rng((seed, index))
        attack_both(small_stream(generator, weights), generator, counted)
    gaps = {name: counted.pop(name) / number for name in list(counted) if name.startswith("gap")}
    said = [f"{name} {count:,}" for name, count in counted.items()] + [
        f"{name} {gap:.2f} %" for name, gap in gaps.items()
    ]
    print(f"\n{number:,} streams: {'; '.join(said)}")
    assert counted["prices, any time"] == counted["prices, ticks"] == number


def nasty_campaign(number, seed):
    """Streams on Unix clocks, of all magnitudes, whose numbers are 1e9 apart: below every policy, as nothing else is known."""
    for index in range(number):
        generator = np.random.default_rng((seed, index))
        instance = nasty(generator, ticked=False, most_jobs=5)
        if infeasible(instance) is None:
            best = min(streams_of(instance), key=lambda one: objective(instance, one))
            attack(instance, best, Fraction(objective(instance, best)) * (1 + Fraction(1e-12)), generator, Counter())


def weighty_campaign(number, seed):
    """Streams whose jobs weigh different things."""
    for weights in ((1.0, 2.0, 4.0), (3.0, 0.1, 0.1), (1e-3, 1.0, 7e5)):
        campaign(number // 3, seed, weights)


@pytest.mark.parametrize(("attacks", "number"), [(campaign, 8), (weighty_campaign, 6), (nasty_campaign, 3)])
def test_no_bound_is_above_a_stream(attacks, number):
    """A sample."""
    attacks(number, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("attacks", "part"),
    [
        *((campaign, part) for part in range(10)),
        *((weighty_campaign, part) for part in range(5)),
        *((nasty_campaign, part) for part in range(2)),
    ],
)
def test_no_bound_is_above_a_stream_of_many(attacks, part):
    """Five thousand small streams, two and a half thousand with weights, a thousand nasty ones."""
    attacks(BLOCK, 2 + part)
