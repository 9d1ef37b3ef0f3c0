#!/usr/bin/env python3
"""Runs one peer's launches; benchmarks/peers/run starts it, in the peers' virtual environment, once to time and once
under callgrind to count.

  harness.py ADAPTER time|count [--bursts N] [--launches N] [--case CASE]...

Prints one JSON object a line: {"version": ...} when the peer is up, {"way", "case", "ns"} a row that was timed, {"way",
"case", "section"} a row that was counted (`section` numbers the marks below), {"way", "case", "failed"} a row that could
not run, or {"failed": reason, "stage": how far it came}.

Time: bursts of 16 launches with a wait between, which is not timed, so that no queue of a real device fills up; the
median burst. Count: the marks are calls of cuProfilerStart, at which callgrind writes down what it has counted; between
the first two are N launches, between the next two 3 N, and what is over goes away in the difference.
"""
import argparse
import ctypes
import gc
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import cases  # noqa: E402: it lies beside this file.


def say(**row):
    print(json.dumps(row), flush=True)


def reason(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def time_row(peer, launch, ring, bursts):
    for arguments in ring:  # Compiles, and fills what is cached.
        launch(*arguments)
    peer.synchronize()
    clock = time.perf_counter_ns
    times = []
    for _ in range(bursts):
        begin = clock()
        for arguments in ring:
            launch(*arguments)
        times.append((clock() - begin) / len(ring))
        peer.synchronize()
    return statistics.median(times)


class Marks:
    """Counts the places that callgrind tells apart."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.number = 0

    def mark(self):
        self.driver.cuProfilerStart()
        self.number += 1
        return self.number


def count_row(marks, launch, ring, launches):
    for _ in range(4):
        for arguments in ring:
            launch(*arguments)
    rounds = max(1, launches // len(ring))
    section = marks.mark()
    for times in (rounds, 3 * rounds):
        for _ in range(times):
            for arguments in ring:
                launch(*arguments)
        marks.mark()
    return {"section": section, "launches": 2 * rounds * len(ring)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("adapter")
    parser.add_argument("mode", choices=["time", "count"])
    parser.add_argument("--bursts", type=int, default=400)
    parser.add_argument("--launches", type=int, default=96)
    parser.add_argument("--case", action="append", default=[])
    options = parser.parse_args()

    adapter = importlib.import_module(f"adapters.{options.adapter}")
    stage = "looking for the package"
    try:
        say(version=metadata.version(adapter.VERSION_OF))
        stage = "coming up"
        peer = adapter.Peer()
    except Exception as error:  # noqa: BLE001: whatever a peer raises is the answer.
        say(failed=reason(error), stage=stage)
        return
    gc.disable()  # As timeit does: a collection would be charged to whichever row meets it.
    wanted = [case for case in cases.CASES if not options.case or case.name in options.case]
    prepared = []
    for way in adapter.WAYS:
        for case in wanted:
            try:
                made = peer.prepare(way, case)
                if made is None:
                    continue
                launch, ring = made
                for arguments in ring:
                    launch(*arguments)
                prepared.append((way, case, launch, ring))
            except Exception as error:  # noqa: BLE001
                say(way=way, case=case.name, failed=reason(error))
    if options.mode == "time":
        for way, case, launch, ring in prepared:
            say(way=way, case=case.name, ns=round(time_row(peer, launch, ring, options.bursts), 1))
        return
    # Coming up was run uncounted, which is a good deal faster.
    subprocess.run(["callgrind_control", "-i", "on", str(os.getpid())], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    marks = Marks()
    for way, case, launch, ring in prepared:
        say(way=way, case=case.name, **count_row(marks, launch, ring, options.launches))


if __name__ == "__main__":
    main()
