"""Runs numba-cuda's own tests, each module in a process of its own, and prints a line for every outcome.

  numba_cuda_suite.py [--jobs N] [--limit SECONDS] [WORD]...     only modules whose names have one of the words

A line is `slipway-outcome OUTCOME TEST`, OUTCOME being passed, failed, error, skipped, or, of a module whose process did not
come to its end, died or unfinished. Wants pytest, cffi, psutil, ml_dtypes and filecheck, which the tests import.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import unittest


class Outcomes(unittest.TextTestResult):
    def told(self, outcome, test):
        print(f"\nslipway-outcome {outcome} {test.id()}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.told("passed", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.told("failed", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.told("skipped" if err[0].__name__ == "Skipped" else "error", test)  # pytest's, which unittest does not know.

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.told("skipped", test)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.told("passed", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.told("failed", test)


def run_module(name):
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(name)
    except BaseException as error:  # pytest's way of skipping a module is no Exception.
        if type(error).__name__ != "Skipped":
            raise
        print(f"\nslipway-outcome skipped {name}", flush=True)
        return
    unittest.TextTestRunner(stream=sys.stdout, resultclass=Outcomes, verbosity=0).run(suite)


def in_process(name, limit):
    command = [sys.executable, __file__, "--module", name]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent.resolve())}  # For sitecustomize.py.
    try:
        done = subprocess.run(command, env=environment, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit)
        ending = "" if done.returncode == 0 else f"\nslipway-outcome died {name} {done.returncode}\n"
        return done.stdout + ending
    except subprocess.TimeoutExpired as expired:
        return (expired.stdout or b"").decode(errors="replace") + f"\nslipway-outcome unfinished {name}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--module")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=900)
    options = parser.parse_args()
    if options.module:
        run_module(options.module)
        return
    import without_nvjitlink  # noqa: F401: before numba.
    import numba.cuda.tests

    root = pathlib.Path(numba.cuda.tests.__file__).parent
    modules = sorted(
        ".".join(("numba.cuda.tests", *path.relative_to(root).with_suffix("").parts))
        for path in root.rglob("test_*.py")
        if "cudasim" not in path.parts  # Of its simulator, which needs no device.
    )
    if options.words:
        modules = [name for name in modules if any(word in name for word in options.words)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, output in zip(modules, pool.map(lambda name: in_process(name, options.limit), modules)):
            print(f"== {name}\n{output}", flush=True)


if __name__ == "__main__":
    main()
