"""Ranges of throughput from a quick profile of a job on two nodes, one server and one worker.

A worker that is alone waits for nobody: its step takes 1 / X(1) = Z + u + 2 S / B seconds. With S / B known
this gives the sum Z + u of computation and update, but not the two parts. So the unknown split gives an interval of
throughputs, from all update to all computation. The interval closes if the update is measured, or the
throughput of more workers, which falls as the update takes more of the sum.

Source: Lin, Paolieri, Chou, Golubchik, MASCOTS 2018 [abstract]: throughput on n nodes is predicted from a
profile on two. The method is our reconstruction.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.queueing.network import Duplex, Network, PlainJob, network_of
from dlsched.queueing.throughput import Bounds, throughputs


class Range(NamedTuple):
    """Seconds, from ``low`` to ``high``; the two are equal if the value is known."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of one worker's cycle.

    ``step_s``: the whole cycle of one worker alone, the confidence interval of its mean. ``transfer_s``: seconds of it in
    which parameters or gradients are moved, 2 S / B. ``update_s``: seconds that the server takes for an update.
    """

    step_s: Range
    transfer_s: float
    update_s: Range

    @property
    def compute_s(self) -> Range:
        """Range of seconds of a mini-batch on the worker, from the sum and the update; never below 0."""
        return Range(
            max(0.0, self.step_s.low - self.transfer_s - self.update_s.high),
            self.step_s.high - self.transfer_s - self.update_s.low,
        )

    def throughput(self, workers: int, *, shards: int = 1, duplex: Duplex = "full") -> Bounds:
        """Return the bounds of the throughput of that many workers, in mini-batches a second.

        The upper bound is infinite if steps scatter so much that they may take no time at all.

        ``workers``: at least 1. ``shards``, ``duplex``: parameter servers, and how their bandwidth is shared, as in
        ``PlainJob``. UsageError: a number out of range.
        """
        if shards < 1:
            raise UsageError(where="shards", found=shards, allowed="an integer >= 1")
        if duplex not in ("full", "half"):
            raise UsageError(where="duplex", found=repr(duplex), allowed="'full' or 'half'")
        slow = self._network(self.step_s.high, self.update_s.high, shards, duplex)
        lower = float(throughputs([slow], workers)[-1, 0])
        if max(self.step_s.low, self.transfer_s, self.update_s.low) <= 0:
            return Bounds(lower, math.inf)
        fast = self._network(self.step_s.low, self.update_s.low, shards, duplex)
        return Bounds(lower, float(throughputs([fast], workers)[-1, 0]))

    def _network(self, step_s: float, update_s: float, shards: int, duplex: Duplex) -> Network:
        rest_s = max(update_s, step_s - self.transfer_s)
        return network_of(PlainJob(rest_s - update_s, self.transfer_s / 2, update_s, shards, duplex))


def two_nodes(
    step_times_s: Sequence[float],
    *,
    parameter_bytes: float,
    bandwidth_bytes_per_s: float,
    update_s: float | None = None,
    confidence: float = 0.95,
) -> Profile:
    """Read a profile of one worker and one server.

    Parameters
    ----------
    step_times_s
        Seconds of single steps, each > 0. From two on, their mean has a confidence interval (Student's t); one alone is
        taken as the mean.
    parameter_bytes, bandwidth_bytes_per_s
        S >= 0 and B > 0: a step moves 2 S bytes.
    update_s
        Seconds that the server takes for an update, if measured; else anything from 0 to the rest of the
        step.
    confidence
        Of the interval, in (0, 1).

    Raises
    ------
    UsageError
        A number out of range, or steps that leave no time beside the transfers and the update: then the bandwidth, the
        bytes or the update are not what the steps were measured with.

    >>> two_nodes([0.42], parameter_bytes=8e6, bandwidth_bytes_per_s=1e8, update_s=0.01).compute_s.low
    0.25
    """
    if not step_times_s or not all(0 < time < math.inf for time in step_times_s):
        raise UsageError(where="step_times_s", found=list(step_times_s)[:5], allowed="numbers > 0, at least one")
    if not 0 <= parameter_bytes < math.inf:
        raise UsageError(where="parameter_bytes", found=parameter_bytes, allowed="a number >= 0")
    if not 0 < bandwidth_bytes_per_s < math.inf:
        raise UsageError(where="bandwidth_bytes_per_s", found=bandwidth_bytes_per_s, allowed="a number > 0")
    if update_s is not None and not 0 <= update_s < math.inf:
        raise UsageError(where="update_s", found=update_s, allowed="a number >= 0")
    if not 0 < confidence < 1:
        raise UsageError(where="confidence", found=confidence, allowed="a number between 0 and 1")
    from scipy.stats import t as student

    if not math.isfinite(sum(step_times_s)):
        raise UsageError(where="step_times_s", found="times that overflow", allowed="a finite sum")
    # Student's interval of the mean step; a single step has none.
    mean, half = statistics.fmean(step_times_s), 0.0
    if len(step_times_s) > 1:
        spread = statistics.stdev(step_times_s) / math.sqrt(len(step_times_s))
        half = float(student.ppf((1 + confidence) / 2, len(step_times_s) - 1)) * spread
    # A step pulls and pushes all bytes once; what is left of it is computation and update, in any proportion.
    transfer_s = 2 * (parameter_bytes / bandwidth_bytes_per_s)
    known_s = transfer_s + (update_s or 0.0)
    if not mean + half > known_s:
        raise UsageError(
            where="step_times_s",
            found=f"a mean of {mean:g} s",
            allowed=(
                f"more than the {known_s:g} s that transfers and update take; the bandwidth, the bytes or the "
                "update are not those of the steps"
            ),
        )
    rest_s = mean + half - transfer_s
    update = Range(0.0, rest_s) if update_s is None else Range(update_s, update_s)
    return Profile(Range(mean - half, mean + half), transfer_s, update)


def refine(
    profile: Profile,
    workers: int,
    throughput_per_s: float,
    *,
    shards: int = 1,
    duplex: Duplex = "full",
) -> Profile:
    """Find the split of computation and update from the measured throughput of more workers.

    Parameters
    ----------
    profile
        Of one worker; its mean step is used, without its interval.
    workers, throughput_per_s
        Number of workers, at least 2, and their measured mini-batches a second.
    shards, duplex
        Those of that measurement.

    Raises
    ------
    UsageError
        Fewer than 2 workers, which say nothing of the split, or a throughput that no split explains.
    """
    from scipy.optimize import brentq

    if workers < 2:
        raise UsageError(where="workers", found=workers, allowed="an integer >= 2; one worker never waits for another")
    step_s = (profile.step_s.low + profile.step_s.high) / 2
    rest_s = step_s - profile.transfer_s
    if not rest_s > 0:
        raise UsageError(
            where="profile",
            found=f"a mean step of {step_s:g} s",
            allowed=f"more than {profile.transfer_s:g} s of transfers",
        )
    # With the mean step taken as exact only the split is open; throughput falls as the update grows.
    exact = replace(profile, step_s=Range(step_s, step_s), update_s=Range(0.0, rest_s))
    slowest, fastest = exact.throughput(workers, shards=shards, duplex=duplex)
    if not slowest <= throughput_per_s <= fastest:
        raise UsageError(
            where="throughput_per_s",
            found=f"{throughput_per_s:g} of {workers} workers",
            allowed=f"{slowest:g} to {fastest:g}, which some split of computation and update explains",
        )

    def excess(update_s: float) -> float:
        split = replace(exact, update_s=Range(update_s, update_s))
        return split.throughput(workers, shards=shards, duplex=duplex).lower - throughput_per_s

    # To the last digits: other worker counts are predicted from this split.
    update_s = float(brentq(excess, 0.0, rest_s, xtol=1e-15 * rest_s, rtol=8.9e-16))
    return replace(exact, update_s=Range(update_s, update_s))
