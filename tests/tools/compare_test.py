"""tools/compare on programs that behave as told."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPARE = HERE.parent.parent / "tools/compare"


def row(name="x", samples=(10, 10, 11), result="7", before=(100, 100), after=(100, 100)):
    return {"name": name, "unit": "ns", "result": result, "samples": list(samples), "control_before": list(before),
            "control_after": list(after)}


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)
        self.log = self.scratch / "log"
        self.output = self.scratch / "out.json"
        self.cpu = str(max(os.sched_getaffinity(0)))

    def program(self, name, rows, ends=None, rows_of=None):
        folder = self.scratch / name
        folder.mkdir()
        program = folder / "fake"
        program.write_text(f"#!{sys.executable}\n" + (HERE / "fake_benchmark.py").read_text())
        program.chmod(0o755)
        (folder / "behaviour.json").write_text(json.dumps({"rows": rows, "rows_of": rows_of or {}, "ends": ends or {},
                                                            "log": str(self.log)}))
        return program

    def compare(self, a, b, *arguments, pairs=3):
        run = subprocess.run([sys.executable, COMPARE, a, b, "--pairs", str(pairs), "--cpus", self.cpu, "--output",
                              self.output, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        report = json.loads(self.output.read_text()) if self.output.exists() else None
        return run, report

    def test_alternates_the_order_and_pins_and_passes_arguments(self):
        run, report = self.compare(self.program("a", [row()]), self.program("b", [row()]), "--", "--n", "5", pairs=4)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [line.split() for line in self.log.read_text().splitlines()]
        self.assertEqual("".join(line[0] for line in lines), "abbaabba")
        for line in lines:
            self.assertEqual(line[2:], [self.cpu, "--samples", "--n", "5"])
        self.assertEqual([(x["pair"], x["side"]) for x in report["attempts"]],
                         [(0, "A"), (0, "B"), (1, "B"), (1, "A"), (2, "A"), (2, "B"), (3, "B"), (3, "A")])

    def test_reports_the_median_ratio_of_pairs_with_its_spread(self):
        run, report = self.compare(self.program("a", [row(samples=[10, 10, 90])]),
                                   self.program("b", [row(samples=[15, 15, 15])]))
        self.assertEqual(run.returncode, 0, run.stderr)
        found = report["rows"]["x"]
        self.assertEqual((found["a"], found["b"], found["ratio"]), (10, 15, 1.5))
        self.assertEqual(found["range"], [1.5, 1.5])
        self.assertIsNone(found["interval95"])
        self.assertTrue(found["qualified"])
        self.assertRegex(run.stdout, r"x +10 +15 ns +1\.500  1\.500 \.\. 1\.500 +range 1\.500 \.\. 1\.500 +3/3 +1\.000\n")
        self.assertNotIn("95%", run.stdout)
        self.assertNotIn("unqualified", run.stdout)
        self.assertEqual(report["attempts"][0]["rows"][0]["samples"], [10, 10, 90])  # Raw.

    def test_an_interval_is_told_from_6_pairs_on(self):
        # Of 6, all lie on one side of the true median once in 32 times; of 12, fewer than 3 do in 3.9% of all cases.
        rows = {str(run): [row(samples=[10 + run])] for run in range(12)}
        for count, label in ((5, "range 1.000 .. 1.400"), (6, "95%   1.000 .. 1.500"), (12, "95%   1.200 .. 1.900")):
            with self.subTest(count):
                self.setUp()
                run, report = self.compare(self.program("a", [row()]), self.program("b", [row()], rows_of=rows),
                                           pairs=count)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn(label, run.stdout)
                self.assertEqual(report["rows"]["x"]["interval95"] is None, count == 5)

    def test_a_pair_whose_control_differs_between_sides_is_left_out(self):
        slow = row(samples=[20], before=[106, 106], after=[106, 106])
        fine = row(samples=[12])
        run, report = self.compare(self.program("a", [row()]), self.program("b", [fine], rows_of={"1": [slow]}))
        self.assertEqual(run.returncode, 0, run.stderr)
        found = report["rows"]["x"]
        self.assertEqual(found["qualified_pairs"], [True, False, True])
        self.assertEqual(found["ratios"], [1.2, 1.2])
        self.assertTrue(found["qualified"])
        self.assertRegex(run.stdout, r"(?m)^x .* 1\.200 .* 2/3 +1\.060$")
        self.assertEqual(len(report["attempts"]), 6)  # What was left out is kept.

    def test_pairs_are_judged_one_by_one(self):
        # Their median is 1: in the middle, between a pair that is too slow and one that is too fast.
        slow, fast = row(before=[110], after=[110]), row(before=[90], after=[90])
        run, report = self.compare(self.program("a", [row(), row("y")]),
                                   self.program("b", [row(), row("y")],
                                                rows_of={"0": [slow, row("y")], "1": [fast, row("y")]}))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertFalse(report["rows"]["x"]["qualified"])
        self.assertTrue(report["rows"]["y"]["qualified"])
        self.assertRegex(run.stdout, r"(?m)^x .* 1/3 +(1\.100|0\.900)  unqualified$")
        self.assertRegex(run.stdout, r"(?m)^y .* 3/3 +1\.000$")

    def test_a_control_that_drifts_within_a_process_is_unqualified(self):
        drifting = row(before=[100], after=[94])
        run, report = self.compare(self.program("a", [drifting]), self.program("b", [drifting]))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(report["rows"]["x"]["qualified_pairs"], [False] * 3)
        self.assertEqual(len(report["rows"]["x"]["ratios"]), 3)  # Of all: there are no better ones.
        self.assertRegex(run.stdout, r"(?m)^x .* 0/3 +0\.940  unqualified$")

    def test_a_failed_oracle_is_kept_and_its_pair_does_not_count(self):
        run, report = self.compare(self.program("a", [row()]), self.program("b", [row()], {"1": "exit"}))
        self.assertEqual(run.returncode, 1)
        self.assertIn("pair 2, B: exit status 1\nrow 'x': the oracle says 7 and the result is 8", run.stderr)
        self.assertEqual(len(report["attempts"]), 6)
        self.assertEqual(len(report["rows"]["x"]["ratios"]), 2)

    def test_a_process_that_dies_hangs_or_prints_something_else(self):
        for end, words in (("kill", "was ended by SIGKILL"), ("text", "its output is not JSON"),
                           ("hang", "did not end within 2 s")):
            with self.subTest(end):
                self.setUp()
                run, report = self.compare(self.program("a", [row()], {"0": end}), self.program("b", [row()]),
                                           "--timeout", "2", pairs=2)
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"pair 1, A: {words}", run.stderr)
                self.assertEqual(len(report["attempts"]), 4)
                self.assertEqual(len(report["rows"]["x"]["ratios"]), 1)

    def test_rows_that_are_no_samples(self):
        bad = [({**row(), "samples": []}, "row 'x' has no samples"),
               ({**row(), "samples": [0]}, "not positive numbers"),
               ({**row(), "result": None}, "without name, unit or result")]
        for broken, words in bad:
            with self.subTest(words):
                self.setUp()
                run, _ = self.compare(self.program("a", [row()]), self.program("b", [broken]), pairs=1)
                self.assertEqual(run.returncode, 1)
                self.assertIn(words, run.stderr)

    def test_results_must_agree_between_sides(self):
        a, b = self.program("a", [row(result="7")]), self.program("b", [row(result="8")])
        run, _ = self.compare(a, b, pairs=1)
        self.assertEqual(run.returncode, 1)
        self.assertIn("row 'x': the result is 8, and was 7 before", run.stderr)
        self.output.unlink()
        run, report = self.compare(a, b, "--different-results", pairs=1)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(report["attempts"][1]["rows"][0]["result"], "8")

    def test_results_must_be_the_expected_ones(self):
        expect = self.scratch / "expect.json"
        a, b = self.program("a", [row()]), self.program("b", [row()])
        for expected, words in (({"x": "9"}, "row 'x': the result is 7; 9 is expected"),
                                ({"z": "9"}, "row 'z' is expected, and there is none")):
            expect.write_text(json.dumps(expected))
            run, _ = self.compare(a, b, "--expect", expect, pairs=1)
            self.output.unlink()
            self.assertEqual(run.returncode, 1)
            self.assertIn(words, run.stderr)
        expect.write_text('{"x": "7"}')
        self.assertEqual(self.compare(a, b, "--expect", expect, pairs=1)[0].returncode, 0)

    def test_profiles_apart_from_timing(self):
        a, b = self.program("a", [row()]), self.program("b", [row()])
        run, report = self.compare(a, b, "--profile", "env X=1", pairs=1)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([p["side"] for p in report["profiles"]], ["A", "B"])
        self.assertEqual(report["profiles"][0]["command"][:2], ["env", "X=1"])
        self.assertEqual(len(report["attempts"]), 2)
        self.assertEqual(len(report["rows"]["x"]["ratios"]), 1)

    def test_keeps_what_is_known_of_the_sides(self):
        _, report = self.compare(self.program("a", [row()]), self.program("b", [row()]), pairs=1)
        self.assertRegex(report["sides"]["A"]["sha256"], "^[0-9a-f]{64}$")
        self.assertIn("cpu", report["environment"])

    def test_refuses_command_lines_that_cannot_be_meant(self):
        a, b = self.program("a", [row()]), self.program("b", [row()])
        for arguments, words in (((a, b, "--pairs", "0"), "--pairs wants 1 or more"),
                                 ((a, b, "--cpus", "one"), "--cpus is 'one'; wanted: numbers"),
                                 ((a, b, "--cpus", "4095"), "this process may use"),
                                 ((a, self.scratch / "c"), "there is no program"),
                                 ((self.scratch, b), "is a folder; name the program in its bin/"),
                                 ((a, b, "--output", a), "every attempt is kept, so name a new file")):
            with self.subTest(words):
                run = subprocess.run([sys.executable, COMPARE, *arguments], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
                self.assertEqual(run.returncode, 2)
                self.assertIn(words, run.stderr)


if __name__ == "__main__":
    unittest.main()
