"""One fresh process of a benchmark that prints samples, pinned, and what became of it.

The contract (docs/benchmarks.md): called with --samples, a program checks each row's result against its oracle, times
it, and prints

  {"rows": [{"name": "typed/3x1d", "unit": "ns", "result": "5f0c...", "samples": [..],
             "control_before": [..], "control_after": [..]}, ...]}

or ends with another exit status than 0, saying what was wrong on stderr.
"""
import json
import math
import os
import signal
import subprocess
import time

LISTS = ("samples", "control_before", "control_after")


def check(report):
    """Why this is no report of samples, or None."""
    rows = report.get("rows") if isinstance(report, dict) else None
    if not isinstance(rows, list) or not rows:
        return "no rows"
    names = set()
    for row in rows:
        if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("name", "unit", "result")):
            return f"a row without name, unit or result: {row}"
        if row["name"] in names:
            return f"two rows '{row['name']}'"
        names.add(row["name"])
        for key in LISTS:
            values = row.get(key)
            if not isinstance(values, list) or not values:
                return f"row '{row['name']}' has no {key}"
            if not all(isinstance(v, (int, float)) and math.isfinite(v) and v > 0 for v in values):
                return f"row '{row['name']}' has {key} that are not positive numbers"
    return None


def run(command, cpus, timeout):
    """One attempt, as it is kept: {command, began, seconds, status, error, stderr, rows}. `error` is None if none."""
    attempt = {"command": [str(word) for word in command], "began": time.time(), "rows": []}
    begin = time.monotonic()
    try:
        process = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", timeout=timeout,
                                 preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    except subprocess.TimeoutExpired:
        attempt.update(status=None, stderr="", error=f"did not end within {timeout:g} s")
    except OSError as error:
        attempt.update(status=None, stderr="", error=str(error))
    else:
        attempt.update(status=process.returncode, stderr=process.stderr[-4000:], error=None)
        if process.returncode < 0:
            attempt["error"] = f"was ended by {signal.Signals(-process.returncode).name}"
        elif process.returncode > 0:
            attempt["error"] = f"exit status {process.returncode}"
        else:
            try:
                report = json.loads(process.stdout)
                attempt["error"] = check(report)
            except ValueError as error:
                attempt["error"] = f"its output is not JSON: {error}"
            if attempt["error"] is None:
                attempt["rows"] = report["rows"]
    attempt["seconds"] = time.monotonic() - begin
    return attempt
