"""Families of worst instances in closed form, whose ratios attain or approach the proven bounds.

The proofs are in docs/worst_theory.md. Where possible, the numbers are exact in floats.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from dlsched import elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping
from dlsched.core.elementary import float_power

_LITTLE = 2.0**-20
"""Small difference that makes the method decide for the worse instead of facing a tie."""


def doubling_family(power: int, jobs: int = 2, second: int = 1) -> ring_allocation.Instance:
    """Powers of two, falling savings, no super-linear speed: doubling has (2P + 2) / (P + 4) times the optimum, P = 2^power.

    ``b`` gets its second GPU first and leaves ``a`` one GPU short of its last doubling. The other jobs have
    no epochs left. With another power of two U as ``second``, ``b`` gets 2U GPUs, and the factor is (2P +
    2U) / (P + 4U).
    """
    most = 2**power
    first = {count: float(2 * second * second // count) for count in _powers(2 * second)}
    falling = {count: float(most * most // 2 // count) for count in _powers(most)}
    return _ring(f"doubling-{power}-{jobs}-{second}", most + second + jobs - 2, [first, falling], jobs)


def twice_family(power: int) -> ring_allocation.Instance:
    """A linear speed on 2^(power + 1) - 1 GPUs, any count: doubling stops at 2^power, with 2 - 2^-power times the optimum."""
    gpus = 2 ** (power + 1) - 1
    return _ring(f"twice-{power}", gpus, [{count: gpus / count for count in range(1, gpus + 1)}], 1)


def plateau_family(most: int, jobs: int = 2) -> ring_allocation.Instance:
    """Two GPUs are no faster than one, then speed is linear: doubling and marginal have most / 2 times the optimum.

    ``most`` is the largest count that fits. The other jobs have no epochs left.
    """
    plateau = {count: most / max(2, count) for count in range(1, most + 1)}
    return _ring(f"plateau-{most}-{jobs}", most + jobs - 1, [plateau], jobs)


def hull_family(
    most: int, counts: Literal["all", "powers"] = "all", little: float = _LITTLE
) -> ring_allocation.Instance:
    """Costs a little above a line, so that hull wants the whole line in one step, for which one GPU is missing.

    Hull has nearly (2L - 1) / (L + 1) times the optimum for all counts up to L = ``most``, and 3L / (L + 4)
    for powers of two. With ``little`` = 0 the costs are on the line: then steps are as short as the counts
    allow, and hull does what marginal does.
    """
    least = most - 1.0 if counts == "all" else most / 2  # after a slope of 1, without super-linear speed
    line = _above_line({w: least + little + most - w for w in _counts(most, counts)}, little / most)
    return _ring(f"hull-{counts}-{most}", most + 1, [{1: 2.0, 2: 1.0}, line], 2)


def widest_family(
    most: int, counts: Literal["all", "powers"] = "all", little: float = _LITTLE, *, above: bool = True
) -> ring_allocation.Instance:
    """As ``hull_family``, but with super-linear speed: hull has nearly most - 1 times the optimum, for a small ``little``.

    That is the width of the hull's only step. If costs are on the line, not ``above`` it, savings fall, and
    doubling has most / 2 times the optimum on powers of two.
    """
    line = {count: most - count + little for count in _counts(most, counts)}
    line = _above_line(line, little / 2) if above else line
    return _ring(f"widest-{counts}-{most}", most + 1, [{1: 1 + little, 2: little}, line], 2)


def equal_family(gpus: int, jobs: int) -> ring_allocation.Instance:
    """One job with epochs left, and linear speed: equal shares have (C - J + 1) / floor(C / J) times the optimum."""
    most = gpus - jobs + 1
    return _ring(f"equal-{gpus}-{jobs}", gpus, [{count: gpus / count for count in range(1, most + 1)}], jobs)


def marginal_placement_family(size: int) -> matching_placement.Instance:
    """``marginal`` saves (n + 2) / (2n + 2) of what the best completion of its initial workers saves, n = ``size``.

    ``marginal`` gives ``a`` the one worker that each of the jobs ``b1`` .. ``bn`` could use, though n others
    serve only ``a``.
    """
    kinds = [f"shared{m}" for m in range(1, size + 1)]
    workers = [*kinds, *["spare"] * size, "of a", *(f"of b{m}" for m in range(1, size + 1))]
    jobs = [_training("a", 2.0, {"of a": 2.0, **dict.fromkeys([*kinds, "spare"], 1.0)})]
    jobs += [
        _training(f"b{m}", (1 - _LITTLE) * 12 / ((m + 1) * (m + 2)), {f"of b{m}": 2.0, f"shared{m}": 1.0})
        for m in range(1, size + 1)
    ]
    return _placement(f"marginal-{size}", workers, jobs)


def local_search_family(length: int) -> matching_placement.Instance:
    """``local-search`` saves almost S(n) out of 1 + S(n - 1), S(n) = 1 + 1/3 + ... + 3^-n, n = ``length``: 3/5 in the limit.

    Job ``c0`` keeps the worker that ``b`` could use, because no worker can be moved alone: ``c1`` holds the
    worker that would serve ``c0`` as well, and so on.
    """
    shared = [f"shared{place}" for place in range(length + 1)]
    own = [f"of {name}" for name in ("b", *(f"c{place}" for place in range(length + 1)))]
    jobs = [_training("b", 4.0 * (1 - _LITTLE), {"of b": 2 + _LITTLE, "shared0": 2.0})]
    for place in range(length + 1):
        usable = dict.fromkeys(shared[place : place + 2], 2.0)
        jobs.append(
            _training(
                f"c{place}", 4.0 * float_power((1 + 2.0**-10) / 3, place), {own[place + 1]: 2 + _LITTLE, **usable}
            )
        )
    return _placement(f"local-search-{length}", [*shared, *own], jobs)


def slot_greedy_family(slots: int) -> ring_embedding.Instance:
    """``slot-greedy`` earns almost T out of 2T - 1, T = ``slots``.

    In slot s, ``wide-s`` arrives with 2T - s + 1 GPUs, and ``narrow-s`` with s GPUs and a slightly higher
    worth. The two do not fit together, but ``wide-s`` fits beside the narrow job of the slot before.
    """
    gpus = 2 * slots
    jobs = []
    for slot in range(1, slots + 1):
        jobs += [_once(f"wide-{slot}", slot, gpus - slot + 1, 1.0), _once(f"narrow-{slot}", slot, slot, 1 + 2.0**-10)]
    server = ring_embedding.Node(id="server", capacity={"gpu": gpus})
    return ring_embedding.Instance(name=f"slot-greedy-{slots}", slots=slots, nodes=[server], links=[], jobs=jobs)


def strict_family(gpus: int, short: int) -> srpt_mapping.Instance:
    """``a-srpt-strict`` has almost (G + 1) (n + 1) / (n + G + 1) times the optimum, G = ``gpus``, n = ``short`` > G.

    A long job of one GPU starts just before short ones of all GPUs arrive, which could have gone first.
    """
    long = _gang("long", 0.0, 1, float(gpus))
    after = [_gang(f"short{index}", 1 + _LITTLE, gpus, _LITTLE / short) for index in range(short)]
    return srpt_mapping.Instance(
        name=f"strict-{gpus}-{short}",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        servers=[srpt_mapping.Server(id="server", gpus=gpus)],
        jobs=[long, *after],
    )


def blocking_family(jobs: int, length: int, *, placed: bool = True) -> srpt_mapping.Instance:
    """One A100: rules for slices have (1 + (I - 1) L) / (L + I - 1) times the optimum, which lets none of the I jobs wait.

    A short ``3g`` takes the upper half, a ``2g`` of L = ``length`` seconds the lower one, of which ``4g`` jobs of a second wait
    for the end. Not ``placed``: one of the whole GPU goes first; (n + 2IL) / (n + 2L - 2 + 2I), n = I^2 - I.
    """
    data = [("3g.20gb", 1.0, 0), ("2g.10gb", float(length), 0), *(("4g.20gb", 1.0, at) for at in range(1, jobs - 1))]
    if not placed:
        data = [("7g.40gb", float(length), 0)] + [("4g.20gb", 1.0, 0)] * (jobs - 1)
    return srpt_mapping.Instance(
        name=f"blocking-{jobs}-{length}",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        servers=[srpt_mapping.Server(id="server", gpus=1, slicing="A100-40GB")],
        jobs=[_gang(f"job{k}", at, 1, run_s, profile) for k, (profile, run_s, at) in enumerate(data)],
    )


def waiting_family(
    jobs: int, length: int = 2**40, long: int = 1, units: int = 2, gain: float = 1
) -> elastic_stream.Instance:
    """All at once, ``long`` jobs of ``length`` seconds before others of one second; m units have speed 1 + (m - 1) ``gain``.

    In order of arrival the flow time is almost n times the optimum, with equal shares of two ``units`` and two long jobs 2n / 3.
    With ``length`` 1, n units and little gain ``srpt-fastest`` has almost (n + 1) / 2.
    """
    return _stream("waiting", units, [(Fraction(), Fraction(length if job < long else 1)) for job in range(jobs)], gain)


def overtaking_family(jobs: int, together: int = 1, little: Fraction = Fraction(_LITTLE)) -> elastic_stream.Instance:
    """Two units: a job, or a pair, is shorter by ``little`` than those before, and comes as long before their end.

    ``sjf`` puts off all but the last, and has almost (n + 1) / 2 times the optimum; of pairs (``together`` = 2, a single job
    first for odd n) equal shares have (n + 2) / 3 or (n^2 + 2n - 1) / (3n - 1).
    """
    rows, arrival = list[tuple[Fraction, Fraction]](), Fraction()
    for group in range(-(-jobs // together)):
        work, many = 1 - group * little, together if group or jobs % together == 0 else jobs % together
        rows += [(arrival, work)] * many
        arrival += many * work - little
    return _stream("overtaking", 2, rows)


def sharing_family(jobs: int, units: int) -> elastic_stream.Instance:
    """Each job has as much work as equal shares leave of those before, and comes when they could all but one have ended.

    With H = 1 + 1/2 + ... + 1/(n - 1), equal shares have (2n - 1 + H) / (1 + 2H) times the optimum if 1 .. n divide ``units``.
    """
    works = [Fraction(1)] * min(jobs, 2)
    for present in range(2, jobs):
        works.append(works[-1] * (1 - Fraction(units // present, units)))
    return _stream("sharing", units, [(sum(works[1:job], Fraction()), work) for job, work in enumerate(works)])


def _stream(name: str, units: int, jobs: Sequence[Sequence[Fraction]], gain: float = 1) -> elastic_stream.Instance:
    """Jobs by arrival and seconds on all units; their speed on m units is 1 + ``gain`` (m - 1)."""
    times_s = {count: (1 + gain * (units - 1)) / (1 + gain * (count - 1)) for count in range(1, units + 1)}
    data = [
        {"id": f"job{k}", "arrival_s": float(a), "epochs": float(w), "epoch_time_s": times_s}
        for k, (a, w) in enumerate(jobs)
    ]
    return elastic_stream.Instance(name=f"{name}-{len(jobs)}-{units}", units=units, jobs=data)


def _counts(most: int, counts: Literal["all", "powers"]) -> list[int]:
    return list(range(1, most + 1)) if counts == "all" else _powers(most)


def _above_line(line: Mapping[int, float], little: float) -> dict[int, float]:
    """Raise all costs but the first and the last."""
    ends = min(line), max(line)
    return {count: cost + (little if count not in ends else 0.0) for count, cost in line.items()}


def _powers(most: int) -> list[int]:
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


def _ring(name: str, gpus: int, tables: Sequence[Mapping[int, float]], jobs: int) -> ring_allocation.Instance:
    """Make jobs with these tables, ``b`` before ``a`` if there are two, plus finished jobs up to ``jobs``."""
    names = "ba"[-len(tables) :]
    data = [{"id": name, "epochs": 1.0, "epoch_time_s": dict(table)} for name, table in zip(names, tables, strict=True)]
    data += [{"id": f"done{index}", "epochs": 0.0, "epoch_time_s": {1: 1.0}} for index in range(jobs - len(data))]
    return ring_allocation.Instance.model_validate({"name": name, "gpus": gpus, "jobs": data})


def _placement(name: str, kinds: Sequence[str], jobs: Sequence[matching_placement.Job]) -> matching_placement.Instance:
    """Make an instance with one worker for each entry of ``kinds``."""
    workers = [
        matching_placement.Worker(id=f"worker{place}", type=kind, bandwidth_bytes_per_s=1.0)
        for place, kind in enumerate(kinds)
    ]
    return matching_placement.Instance(name=name, workers=workers, jobs=tuple(jobs))


def _training(name: str, work: float, rates: dict[str, float]) -> matching_placement.Job:
    return matching_placement.Job(id=name, iterations=work, batch_samples=1.0, gradient_bytes=0.0, samples_per_s=rates)


def _once(name: str, slot: int, gpus: int, worth: float) -> ring_embedding.Job:
    """Make a job of one worker, which is worth something in one slot only."""
    return ring_embedding.Job(
        id=name,
        arrival_slot=slot,
        max_workers=1,
        demand={"gpu": gpus},
        bandwidth_bytes_per_s=0.0,
        rate=1.0,
        utility=ring_embedding.Capped(slope=worth, cap=worth),
    )


def _gang(name: str, release_s: float, gpus: int, run_s: float, profile: str | None = None) -> srpt_mapping.Job:
    stage = srpt_mapping.Stage(replicas=gpus, compute_s=run_s, output_bytes=0.0, parameter_bytes=0.0)
    return srpt_mapping.Job(id=name, release_s=release_s, iterations=1.0, stages=[stage], profile=profile)
