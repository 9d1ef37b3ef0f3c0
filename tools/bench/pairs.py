"""Statistics of paired measurements, and when they count.

A pair is two fresh processes, one of each side, run one right after the other. What is compared is always the ratio
within a pair, B to A: what the machine does slowly to both cancels. What it does to one of them shows in the pair's
control, and a pair whose control does not hold is left out.
"""
import math
import statistics

# A control is the same machine code on both sides, so a ratio away from 1 is the machine's doing, not the change's.
CONTROL_BAND = 0.05


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def interval95(values):
    """From the k-th smallest value to the k-th largest, for the largest k for which that holds the true median with
    95% probability whatever the distribution: the sign test's interval. None of fewer than 6 values: there is no k."""
    n = len(values)
    outside = 0  # Probability, times 2**n, that fewer than k values lie below the true median, or above it.
    k = 0
    while 20 * (outside + 2 * math.comb(n, k)) <= 2 ** n:
        outside += 2 * math.comb(n, k)
        k += 1
    return (sorted(values)[k - 1], sorted(values)[-k]) if k else None


def control_ratios(a, b):
    """What the control says of one row of a pair: between the processes, and within each, after to before."""
    return {"between": statistics.median(b["control_before"] + b["control_after"]) /
                       statistics.median(a["control_before"] + a["control_after"]),
            "within_a": statistics.median(a["control_after"]) / statistics.median(a["control_before"]),
            "within_b": statistics.median(b["control_after"]) / statistics.median(b["control_before"])}


def qualifies(control):
    return all(abs(ratio - 1) <= CONTROL_BAND for ratio in control.values())


def summarize(pairs):
    """What a row's pairs [(row of A, row of B), ...] amount to: the numbers are those of the pairs that qualify, or of
    all where none does. A row is qualified if more than half of its pairs are."""
    controls = [control_ratios(a, b) for a, b in pairs]
    qualified = [qualifies(control) for control in controls]
    used = [pair for pair, fine in zip(pairs, qualified) if fine] or pairs
    ratios = [statistics.median(b["samples"]) / statistics.median(a["samples"]) for a, b in used]
    return {"unit": pairs[0][0]["unit"],
            "a": statistics.median(statistics.median(a["samples"]) for a, _ in used),
            "b": statistics.median(statistics.median(b["samples"]) for _, b in used),
            "ratios": ratios,
            "ratio": statistics.median(ratios),
            "quartiles": quartiles(ratios),
            "range": (min(ratios), max(ratios)),
            "interval95": interval95(ratios),
            "controls": controls,
            "qualified_pairs": qualified,
            "qualified": 2 * sum(qualified) > len(pairs)}


def worst_control(summary):
    """Of all pairs, also those that do not qualify."""
    ratios = [ratio for control in summary["controls"] for ratio in control.values()]
    return max(ratios, key=lambda ratio: abs(ratio - 1))
