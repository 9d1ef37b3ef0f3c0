"""Counting launches, and the record of counts. Takes the path of fake_launch_count from the environment's
FAKE_LAUNCH_COUNT; without it, or without valgrind, what needs it is skipped."""
import os
import pathlib
import platform
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from bench import launch_counts, launch_record  # noqa: E402


def row(path="typed", case="0", instructions=30, allocations=0, **more):
    return {"path": path, "case": case, "instructions": instructions, "allocations": allocations, **more}


class RecordTest(unittest.TestCase):
    def test_reads_what_it_writes(self):
        text = launch_record.render("g++ 12.2.0 x86_64 -O2", [row(), row("list", "3x1d+s", 234.125)])
        record = launch_record.parse(text)
        self.assertEqual(record.compiler, "g++ 12.2.0 x86_64 -O2")
        self.assertEqual(record.counts, {("typed", "0"): 30, ("list", "3x1d+s"): 234.12})

    def test_a_line_that_is_no_count(self):
        with self.assertRaisesRegex(ValueError, "line 2 is 'typed 0'; wanted: path case instructions"):
            launch_record.parse("compiler g++\ntyped 0\n")

    def compare(self, rows, recorded):
        return launch_record.compare(launch_record.Record("", recorded), rows)

    def test_equal_counts_pass(self):
        self.assertEqual(self.compare([row()], {("typed", "0"): 30}), ([], []))

    def test_what_rises_fails(self):
        self.assertEqual(self.compare([row(instructions=31)], {("typed", "0"): 30}),
                         (["typed 0: 31 instructions, 30 recorded"], []))

    def test_what_falls_is_noted(self):
        self.assertEqual(self.compare([row(instructions=29)], {("typed", "0"): 30}),
                         ([], ["typed 0: 29 instructions, 30 recorded"]))

    def test_rows_come_and_go_only_with_the_record(self):
        failures, _ = self.compare([row()], {("bound", "0"): 30})
        self.assertEqual(failures, ["typed 0: 30 instructions, and no record of it",
                                    "bound 0: recorded, and not counted any more"])

    def test_allocations_and_atomics_fail(self):
        failures, _ = self.compare([row(allocations=2, atomics=1.0)], {("typed", "0"): 30})
        self.assertEqual(failures, ["typed 0: 2 heap allocations a launch; a launch makes none",
                                    "typed 0: 1 atomic read-modify-writes a launch; a launch makes none"])

    def test_loaded_kernels_cost_nothing(self):
        alone = [row(), row("bound", "3x1d", 29)]
        self.assertEqual(launch_record.compare_loaded(alone, [row("bound", "3x1d", 29)], 100000), [])
        self.assertEqual(launch_record.compare_loaded(alone, [row("bound", "3x1d", 29.5)], 100000),
                         ["bound 3x1d: 29.5 instructions with 100,000 kernels loaded, 29 without; "
                          "what is loaded costs a launch nothing"])

    def test_atomics_that_cannot_be_told_pass(self):
        self.assertEqual(self.compare([row(atomics=None)], {("typed", "0"): 30}), ([], []))


class DisassemblyTest(unittest.TestCase):
    def test_tells_exchanges_with_memory_from_padding(self):
        text = ("  10:\txchg   %ax,%ax\n  12:\tmov    (%rdi),%rax\n  15:\txchg   %rax,(%rdi)\n"
                "  18:\tlock cmpxchg %edx,(%rdi)\n  1c:\tblock\n")
        self.assertEqual(launch_counts.Disassembly.PATTERN.findall(text), ["15", "18"])


class CountTest(unittest.TestCase):
    def setUp(self):
        self.program = os.environ.get("FAKE_LAUNCH_COUNT")
        if not self.program or not shutil.which("valgrind"):
            self.skipTest("wants valgrind, and fake_launch_count")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.build = pathlib.Path(scratch.name)
        (self.build / "bin").mkdir()
        (self.build / "bin/launch_count").symlink_to(self.program)

    def test_counts_what_further_launches_cost(self):
        rows = {r["path"]: r for r in launch_counts.count(self.build, atomics=True)}
        self.assertEqual(rows["bare_buffer"]["instructions"] - rows["bare_params"]["instructions"], 2)
        self.assertEqual(rows["bare"]["instructions"], rows["bare_params"]["instructions"])
        self.assertEqual(rows["typed"]["instructions"], rows["bare_params"]["instructions"])
        self.assertEqual(rows["typed"]["allocations"], 1)
        self.assertEqual(rows["bare"]["allocations"], 0)
        if shutil.which("objdump") and platform.machine() == "x86_64":
            atomics = {path: r["atomics"] for path, r in rows.items()}
            self.assertEqual((atomics["bare"], atomics["typed"], atomics["atomic"], atomics["exchange"]), (0, 0, 1, 1))
            self.assertGreaterEqual(atomics["locked"], 1)

    def test_counts_with_kernels_loaded(self):
        alone = launch_counts.count(self.build)
        failures = launch_record.compare_loaded(alone, launch_counts.count(self.build, loaded=7), 7)
        self.assertEqual(len(failures), 1)
        self.assertRegex(failures[0], "^typed 0: .* instructions with 7 kernels loaded")

    def test_says_what_is_missing(self):
        with self.assertRaisesRegex(launch_counts.NotHere, "build the target launch_count"):
            launch_counts.count(self.build / "elsewhere")
        with mock.patch.object(launch_counts.shutil, "which", return_value=None):
            with self.assertRaisesRegex(launch_counts.NotHere, "valgrind is not installed"):
                launch_counts.count(self.build)


if __name__ == "__main__":
    unittest.main()
