"""Slipway's own rows, for the table beside the peers': counts from tools/count_launch_instructions, nanoseconds from
bin/launch_latency."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATHS = ("bare", "bound", "typed", "dynamic", "signature")
BARE = ("bare_buffer", "bare_params")  # The cheaper of the two is `bare`.


def counts(build):
    output = subprocess.run([ROOT / "tools/count_launch_instructions", "--build", build], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    rows = {}
    for line in output.splitlines():
        path, case, instructions, _ = line.split()
        rows[path, case] = float(instructions)
    return rows


def times(build):
    output = subprocess.run([build / "bin/launch_latency", "--benchmark_format=json", "--benchmark_min_time=0.05",
                             "--benchmark_filter=^(" + "|".join(PATHS + BARE) + ")/"], check=True, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = {}
    for row in json.loads(output)["benchmarks"]:
        path, case = row["name"].split("/")[:2]
        nanoseconds = row["per_launch"] * 1e9
        if path in BARE:
            path = "bare"
            nanoseconds = min(nanoseconds, rows.get((path, case), nanoseconds))
        rows[path, case] = nanoseconds
    return rows


def measure(build, cases, count):
    """[{"path", "case", "ns", "instructions"}], of `cases` or of all."""
    instructions = counts(build) if count else {}
    nanoseconds = times(build)
    rows = []
    for path, case in nanoseconds | instructions:
        if path not in PATHS or (cases and case not in cases):
            continue
        row = {"path": path, "case": case}
        if (path, case) in nanoseconds:
            row["ns"] = round(nanoseconds[path, case], 2)
        if (path, case) in instructions:
            row["instructions"] = instructions[path, case]
        rows.append(row)
    return rows
