"""Tests of benchmarks/peers: its cases, and the way from raw output to tables."""
import importlib
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks/peers"))

import cases  # noqa: E402: found by the line above.
import table  # noqa: E402

REPORT = {
    "machine": {"cpu": "a processor", "python": "3.11"},
    "driver": "null",
    "ours": [{"path": "bare", "case": "0", "instructions": 22, "ns": 3},
             {"path": "typed", "case": "0", "instructions": 30, "ns": 4},
             {"path": "typed", "case": "3x1d", "instructions": 60, "ns": 6}],
    "peers": [{"peer": "Fast", "version": "1.2",
               "rows": [{"way": "a call", "case": "0", "instructions": 3300, "ns": 500},
                        {"way": "a call", "case": "3x1d", "instructions": 6000, "ns": 900},
                        {"way": "a call", "case": "8x3d", "failed": "ValueError: too many"}]},
              {"peer": "Down", "version": "9", "failed": "RuntimeError: no runtime", "stage": "coming up"}],
}


class CasesTest(unittest.TestCase):
    def test_every_case_has_as_many_values_as_parameters(self):
        for case in cases.CASES:
            for alone in (False, True):
                parameters = cases.flat_parameters(case, alone)
                self.assertEqual(len(cases.flat_values(case, 3, alone)), len(parameters), case.name)
                self.assertEqual(cases.empty_ptx(parameters).count(".param"), len(parameters), case.name)

    def test_an_array_is_pointer_shape_and_strides(self):
        case = next(case for case in cases.CASES if case.name == "3x2d")
        self.assertEqual(len(cases.flat_parameters(case, False)), 3 * (1 + 2 + 2))
        self.assertEqual(len(cases.flat_parameters(case, True)), 3)

    def test_values_change_from_set_to_set(self):
        for case in cases.CASES[1:]:
            sets = {tuple(cases.flat_values(case, index, False)) for index in range(cases.SETS)}
            self.assertEqual(len(sets), cases.SETS, case.name)

    def test_arrays_are_strided(self):
        self.assertEqual(cases.strides_of((3, 5)), (10, 2))


class AdaptersTest(unittest.TestCase):
    def test_each_can_be_asked_without_its_packages(self):
        folder = pathlib.Path(cases.__file__).parent / "adapters"
        names = sorted(path.stem for path in folder.glob("on_*.py"))
        self.assertGreater(len(names), 5)
        for name in names:
            adapter = importlib.import_module(f"adapters.{name}")
            self.assertTrue(adapter.NAME and adapter.PACKAGES and adapter.VERSION_OF and adapter.WAYS and adapter.__doc__)
            self.assertTrue(callable(adapter.Peer), name)


class RowsTest(unittest.TestCase):
    def test_lines_of_a_peers_own_are_skipped(self):
        rows = table.parse_rows('Starting on arch=cuda\n{"version": "1"}\n[1]\n{broken\n{"way": "w", "case": "0", "ns": 1}\n')
        self.assertEqual(rows, [{"version": "1"}, {"way": "w", "case": "0", "ns": 1}])

    def test_counts_join_times(self):
        result = {"peer": "p"}
        table.merge(result, [{"version": "1"}, {"way": "w", "case": "0", "ns": 1}])
        table.merge(result, [{"way": "w", "case": "0", "instructions": 5}, {"way": "w", "case": "4s", "instructions": 7}])
        self.assertEqual(result["version"], "1")
        self.assertEqual(result["rows"], [{"way": "w", "case": "0", "ns": 1, "instructions": 5},
                                          {"way": "w", "case": "4s", "instructions": 7}])

    def test_a_count_is_the_difference_of_two_run_lengths(self):
        # A loop of 2 launches and one of 6, of 100 instructions each, with 1,000 around either.
        rows = [{"way": "w", "case": "0", "section": 1, "launches": 4}]
        self.assertEqual(table.count_sections(rows, [50, 1200, 1600]), [{"way": "w", "case": "0", "instructions": 100}])

    def test_a_missing_dump_is_told(self):
        rows = [{"way": "w", "case": "0", "section": 1, "launches": 4}]
        self.assertIn("count_failed", table.count_sections(rows, [50, 1200])[0])

    def test_dumps_are_read_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            for number, total in enumerate([7, 40], 1):
                pathlib.Path(f"{out}.{number}").write_text(f"events: Ir\nsummary: {total}\n\ntotals: {total}\n")
            self.assertEqual(table.read_dumps(out), [7, 40])


class TableTest(unittest.TestCase):
    def test_the_worst_ratio_is_told(self):
        self.assertEqual(table.ratios(REPORT, "typed"), {"Fast, a call": (100.0, "3x1d")})

    def test_markdown_has_every_row_and_what_is_absent(self):
        text = table.markdown(REPORT)
        for part in ["| **Slipway, typed** | 30 | 60 |", "| Fast 1.2, a call | 3,300 | 6,000 |", "100 (3x1d)",
                     "- Down 9: coming up: RuntimeError: no runtime", "case 8x3d: ValueError: too many"]:
            self.assertIn(part, text)

    def test_docs_keep_what_is_around_the_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "peers.md"
            path.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
            table.update_docs(path, REPORT)
            text = path.read_text()
            self.assertTrue(text.startswith("before\n" + table.BEGIN) and text.endswith(table.END + "\nafter\n"))
            self.assertNotIn("old", text)
            path.write_text("no markers")
            with self.assertRaisesRegex(SystemExit, "lacks the lines"):
                table.update_docs(path, REPORT)


if __name__ == "__main__":
    unittest.main()
