"""Statistics of paired measurements, and when they count.

A pair is two fresh processes, one of each side, run one right after the other. What is compared is always the ratio
within a pair, B to A: what the machine does slowly to both cancels.
"""
import random
import statistics

# A control is the same machine code on both sides, so a ratio away from 1 is the machine's doing, not the change's.
CONTROL_BAND = 0.05
RESAMPLES = 2000


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def bootstrap_interval(values, seed=1):
    """The 95% interval of the median, by resampling with replacement; the same values always give the same."""
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]


def control_ratios(a, b):
    """What the control says of one row of a pair: between the processes, and within each, after to before."""
    return {"between": statistics.median(b["control_before"] + b["control_after"]) /
                       statistics.median(a["control_before"] + a["control_after"]),
            "within_a": statistics.median(a["control_after"]) / statistics.median(a["control_before"]),
            "within_b": statistics.median(b["control_after"]) / statistics.median(b["control_before"])}


def summarize(pairs):
    """What a row's pairs [(row of A, row of B), ...] amount to."""
    ratios = [statistics.median(b["samples"]) / statistics.median(a["samples"]) for a, b in pairs]
    controls = [control_ratios(a, b) for a, b in pairs]
    control = {kind: statistics.median(c[kind] for c in controls) for kind in controls[0]}
    return {"unit": pairs[0][0]["unit"],
            "a": statistics.median(statistics.median(a["samples"]) for a, _ in pairs),
            "b": statistics.median(statistics.median(b["samples"]) for _, b in pairs),
            "ratios": ratios,
            "ratio": statistics.median(ratios),
            "quartiles": quartiles(ratios),
            "interval95": bootstrap_interval(ratios),
            "controls": controls,
            "control": control,
            "qualified": all(abs(ratio - 1) <= CONTROL_BAND for ratio in control.values())}


def worst_control(summary):
    return max(summary["control"].values(), key=lambda ratio: abs(ratio - 1))
