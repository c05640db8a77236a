/* The multiple-choice knapsack as a plain loop: hulls, a quickselect for the price, an expanding core over dense states.
   Returns the least total cost, or NAN without memory; the arrays are those of a cost table, the least counts fit. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double slope; long units; } Step;
typedef struct { double regret; long shift; long job; } Pair;

static int by_regret(const void *a, const void *b)
{
    double x = ((const Pair *)a)->regret, y = ((const Pair *)b)->regret;
    return (x > y) - (x < y);
}

static int by_job(const void *a, const void *b)
{
    long x = ((const Pair *)a)->job, y = ((const Pair *)b)->job;
    return (x > y) - (x < y);
}

/* Slope of the first step, steepest first, that no longer fits; 0 when all fit. */
static double break_slope(Step *steps, long n, long room)
{
    while (n > 0) {
        double pivot = steps[n / 2].slope;
        long above = 0, equal, units = 0, same = 0;
        for (long i = 0; i < n; i++)
            if (steps[i].slope > pivot) {
                Step swap = steps[above];
                units += steps[i].units;
                steps[above++] = steps[i];
                steps[i] = swap;
            }
        equal = above;
        for (long i = above; i < n; i++)
            if (steps[i].slope == pivot) {
                Step swap = steps[equal];
                same += steps[i].units;
                steps[equal++] = steps[i];
                steps[i] = swap;
            }
        if (units > room) {
            n = above;
        } else if (units + same > room) {
            return pivot;
        } else {
            room -= units + same;
            steps += equal;
            n -= equal;
        }
    }
    return 0.0;
}

/* Least excess of choices of the pairs, by job; best is the least one known. NAN: no memory. */
static double combined(Pair *pairs, long n, double price, long slack, double best)
{
    long low = 0, high = 0;
    for (long i = 0; i < n;) {
        long up = 0, down = 0, job = pairs[i].job;
        for (; i < n && pairs[i].job == job; i++) {
            if (pairs[i].shift > up) up = pairs[i].shift;
            if (pairs[i].shift < down) down = pairs[i].shift;
        }
        low += down;
        high += up;
    }
    long size = high - low + 1, least = -low, most = -low, ups = high, downs = -low;
    double *held = malloc(size * sizeof *held), *next = malloc(size * sizeof *next);
    if (!held || !next) { free(held); free(next); return NAN; }
    for (long s = 0; s < size; s++) held[s] = INFINITY;
    held[-low] = 0.0;
    for (long i = 0; i < n;) {
        long end = i, up = 0, down = 0;
        for (; end < n && pairs[end].job == pairs[i].job; end++) {
            if (pairs[end].shift > up) up = pairs[end].shift;
            if (pairs[end].shift < down) down = pairs[end].shift;
        }
        ups -= up;
        downs += down;
        for (long s = least + down; s < least; s++) held[s] = INFINITY;
        for (long s = most + 1; s <= most + up; s++) held[s] = INFINITY;
        memcpy(next + least + down, held + least + down, (most + up - least - down + 1) * sizeof *next);
        for (long k = i; k < end; k++)
            for (long s = least; s <= most; s++) {
                double value = held[s] + pairs[k].regret;
                if (value < next[s + pairs[k].shift]) next[s + pairs[k].shift] = value;
            }
        least += down;
        most += up;
        for (long s = least; s <= most; s++) {
            long left = slack - (s + low);
            if (left >= 0 && next[s] + price * left < best) best = next[s] + price * left;
            if (-left > downs || next[s] + price * (left > ups ? left - ups : 0) >= best) next[s] = INFINITY;
        }
        while (least <= most && next[least] == INFINITY) least++;
        while (most >= least && next[most] == INFINITY) most--;
        double *swap = held;
        held = next;
        next = swap;
        if (least > most) break;
        i = end;
    }
    free(held);
    free(next);
    return best;
}

double knapsack(long jobs, const long *starts, const long *counts, const double *costs, long capacity)
{
    long total = starts[jobs], steps_found = 0, room = capacity, used = 0, near = 0;
    long *hull = malloc(total * sizeof *hull), *ends = malloc((jobs + 1) * sizeof *ends), *base = malloc(jobs * sizeof *base);
    Step *steps = malloc(total * sizeof *steps);
    Pair *pairs = malloc(total * sizeof *pairs);
    double answer = NAN;
    if (!hull || !ends || !base || !steps || !pairs) goto done;
    ends[0] = 0;
    for (long j = 0; j < jobs; j++) {
        long *first = hull + ends[j], n = 0;
        for (long p = starts[j]; p < starts[j + 1]; p++) {
            if (n && costs[p] >= costs[first[n - 1]]) continue;
            while (n > 1 && (costs[first[n - 2]] - costs[first[n - 1]]) * (counts[p] - counts[first[n - 1]])
                                <= (costs[first[n - 1]] - costs[p]) * (counts[first[n - 1]] - counts[first[n - 2]]))
                n--;
            first[n++] = p;
        }
        ends[j + 1] = ends[j] + n;
        room -= counts[first[0]];
        for (long v = 1; v < n; v++) {
            Step step = {0.0, counts[first[v]] - counts[first[v - 1]]};
            step.slope = (costs[first[v - 1]] - costs[first[v]]) / step.units;
            steps[steps_found++] = step;
        }
    }
    double price = break_slope(steps, steps_found, room), value = 0.0;
    for (long j = 0; j < jobs; j++) {
        long v = ends[j];
        while (v + 1 < ends[j + 1]
               && (costs[hull[v]] - costs[hull[v + 1]]) / (counts[hull[v + 1]] - counts[hull[v]]) > price)
            v++;
        base[j] = hull[v];
        used += counts[hull[v]];
        value += costs[hull[v]];
    }
    long slack = capacity - used;
    double best = price * slack, threshold = -1.0;
    for (long j = 0; j < jobs; j++)
        for (long p = starts[j]; p < starts[j + 1]; p++) {
            double regret = costs[p] - costs[base[j]] + price * (counts[p] - counts[base[j]]);
            long shift = counts[p] - counts[base[j]];
            if (regret < best && p != base[j]) {
                if (regret < 0.0) regret = 0.0;
                pairs[near++] = (Pair){regret, shift, j};
                if (shift <= slack && regret + price * (slack - shift) < best) best = regret + price * (slack - shift);
            }
        }
    qsort(pairs, near, sizeof *pairs, by_regret);
    for (long size = 48; threshold < best; size *= 4) {
        long n = size < near ? size : near;
        threshold = n < near ? pairs[n - 1].regret : INFINITY;
        Pair *core = malloc((n + 1) * sizeof *core);
        if (!core) { best = NAN; break; }
        memcpy(core, pairs, n * sizeof *core);
        qsort(core, n, sizeof *core, by_job);
        best = combined(core, n, price, slack, best);
        free(core);
    }
    answer = value - price * slack + best; /* value + price x used - price x capacity, and the excess */
done:
    free(hull); free(ends); free(base); free(steps); free(pairs);
    return answer;
}
