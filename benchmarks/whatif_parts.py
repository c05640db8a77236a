"""How much policies matter on openb where jobs take parts of GPUs, and where every part is a whole GPU.

The same jobs, those of the busiest four weeks of Alibaba's openb (gpu-v2023), on small clusters of servers of 8 GPUs, as those of
the trace are all but empty. Four of ten jobs take a part of a GPU (`gpu_milli`): they run on their parts, placed by best fit, or
each has a whole GPU. Policies know how long jobs really ran. The trace is not part of this repository.

    python benchmarks/whatif_parts.py      # writes results/whatif_parts.md
"""

import argparse
import sys
from pathlib import Path

from table import machine, markdown

import dlsched

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data" / "openb" / "openb_pod_list_default.csv"
WEEKS = {"from_": "10281600", "to": "12700800"}
GPUS = (28, 24, 20, 16)
POLICIES = ("fifo", "easy", "fifo-backfill", "shortest-first", "shortest-backfill", "work-patient")
HOW = ("whole", "parts")
HOUR_S = 3600.0


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help=f"the trace (default: {DATA})")
    options = parser.parse_args()
    answers = {
        how: dlsched.whatif(
            options.data, "openb", gpus=GPUS, policies=POLICIES, slices=how, workers=1, time_limit=600, **WEEKS
        )
        for how in HOW
    }
    clusters = {how: {each.gpus: each for each in answer.content.clusters} for how, answer in answers.items()}
    waits_h = {
        (how, gpus, name): clusters[how][gpus].mean_s(name) / HOUR_S
        for how in HOW
        for gpus in GPUS
        for name in POLICIES
    }
    heads = [f"{gpus} GPUs, {how}" for gpus in GPUS for how in HOW]
    rows = [[name, *(f"{waits_h[how, gpus, name]:.2f}" for gpus in GPUS for how in HOW)] for name in POLICIES]
    used = [f"{100 * (clusters[how][gpus].fates['fifo'].used.share or 0):.0f} %" for gpus in GPUS for how in HOW]
    rows.append(["used under fifo", *used])
    saved = []
    for gpus in GPUS:
        spread = {how: [waits_h[how, gpus, name] for name in POLICIES] for how in HOW}
        first, best = {how: own[0] for how, own in spread.items()}, {how: min(own) for how, own in spread.items()}
        less = {how: first[how] - best[how] for how in HOW}
        saved.append(
            f"- {gpus} GPUs: the best policy saves {less['whole']:.2f} h of fifo's mean waiting with whole GPUs and "
            f"{less['parts']:.2f} h with parts, {100 * (less['parts'] / less['whole'] - 1):+.0f} %. Parts alone save under fifo "
            f"{first['whole'] - first['parts']:.2f} h, and under the best policy {best['whole'] - best['parts']:.2f} h."
        )
    question, _, protocol = (__doc__ or "").partition("\n\n")
    jobs = len(clusters["parts"][GPUS[0]].jobs.ids)
    text = "\n\n".join([
        "# What policies save with parts of GPUs",
        f"*{question}*",
        f"Command: `python benchmarks/whatif_parts.py`, {machine()}. Figures are defined in `docs/whatif.md`.",
        f"Mean waiting of {jobs:,} jobs, h:",
        markdown(["policy", *heads], rows).rstrip(),
        "\n".join(saved),
        f"## Protocol\n\n{protocol.partition('    python')[0].strip()}",
    ])  # fmt: skip
    (HERE / "results" / "whatif_parts.md").write_text(text + "\n", encoding="utf-8")
    print(f"{HERE / 'results' / 'whatif_parts.md'}", file=sys.stderr)


if __name__ == "__main__":
    main()
