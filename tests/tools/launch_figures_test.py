"""The table and the plot of launch costs, from made-up measurements."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from bench import launch_figures, measured_figures, svg  # noqa: E402


def counts():
    rows = []
    for path, more in (("bare", 0), ("bare_buffer", 2), ("bare_params", 0), ("typed", 10), ("bound", 5)):
        for i, case in enumerate(["0", "4s", "3x1d", "3x1d+s", "3x2d", "8x3d", "1x1d", "8x1d", "1x2d", "1x8d"]):
            rows.append({"path": path, "case": case, "instructions": 20.0 + 10 * i + more, "allocations": 0.0})
    return {"compiler": "g++ 12.2.0 x86_64 -O2", "rows": rows}


def latency(aggregates=False):
    rows = []
    for path, ns in (("bare_buffer", 3.0), ("bare_params", 2.5), ("typed", 3.5)):
        for case in ("0", "3x1d"):
            rows.append({"name": f"{path}/{case}", "run_name": f"{path}/{case}", "per_launch": ns * 1e-9})
    rows.append({"name": "loaded/typed/0", "run_name": "loaded/typed/0", "per_launch": 4e-9})
    rows.append({"name": "loaded/typed/100000", "run_name": "loaded/typed/100000", "per_launch": 4e-9})
    for threads, speed in ((1, 1e8), (2, 1.95e8)):
        name = f"threads/typed/real_time/threads:{threads}"
        rows.append({"name": name, "run_name": name, "items_per_second": speed})
    if aggregates:
        rows += [{**row, "aggregate_name": "mean", **({"per_launch": 1} if "per_launch" in row else {})}
                 for row in rows]
        for row in rows[:len(rows) // 2]:
            row["aggregate_name"] = "median"
    return {"benchmarks": rows}


class FiguresTest(unittest.TestCase):
    def test_table(self):
        lines = launch_figures.table(launch_figures.Figures(counts(), latency())).splitlines()
        self.assertEqual(lines[2:], [
            "| bare driver call, packed by hand | 20, 2.5 ns | 30 | 40, 2.5 ns | 60 | 70 |",
            "| bound | 25 (32) | 35 (32) | 45 (32) | 65 (32) | 75 (32) |",
            "| typed | 30 (36), 3.5 ns | 40 (50) | 50 (62), 3.5 ns | 70 (68) | 80 (160) |"])

    def test_takes_the_medians_of_repetitions(self):
        figures = launch_figures.Figures(counts(), latency(aggregates=True))
        self.assertAlmostEqual(figures.ns["typed", "0"], 3.5)

    def test_plot_is_svg_with_every_path_and_value(self):
        for times in (None, latency()):
            plot = launch_figures.plot(launch_figures.Figures(counts(), times))
            root = xml.etree.ElementTree.fromstring(plot)
            words = [element.text for element in root.iter() if element.text]
            for wanted in ("bound", "typed", "8 arrays, 3-D", "80", "rank of one array"):
                self.assertIn(wanted, words)
            self.assertEqual("Nanoseconds of a launch" in words, times is not None)

    def test_axis_marks(self):
        self.assertEqual(launch_figures.ticks(97), [0, 20, 40, 60, 80, 100])
        self.assertEqual(launch_figures.ticks(2.2), [0, 0.5, 1.0, 1.5, 2.0, 2.5])

    def test_readme_table(self):
        report = {"sections": {"count": {"figures": counts()}, "latency": {"figures": latency()}}}
        self.assertRegex(measured_figures.table({"sections": {}}), r"^\| what ")
        report["sections"]["latency"]["figures"]["benchmarks"] += [
            {"name": f"{path}/{case}", "run_name": f"{path}/{case}", "per_launch": 4e-9}
            for path in ("bare_buffer", "typed") for case in ("4s", "3x2d", "8x3d")]
        table = measured_figures.table(report)
        self.assertIn("1.20 times (60 to 50)", table)
        self.assertIn("| at least 1.9 times | 1.95 times |", table)
        self.assertIn("| no more | 1.00 times |", table)


class CommandTest(unittest.TestCase):
    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOLS / "plot_launch", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    def test_writes_what_is_asked_for(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "counts.json").write_text(json.dumps(counts()))
            run = self.run_tool(folder / "counts.json", "--svg", folder / "plot.svg")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("| typed | 30 (36) |", run.stdout)
            self.assertTrue((folder / "plot.svg").read_text().startswith("<svg"))
            run = self.run_tool(folder / "none.json")
            self.assertEqual(run.returncode, 1)
            self.assertIn("while reading the measurements", run.stderr)

    def test_says_what_a_png_wants(self):
        with mock.patch.object(svg.shutil, "which", return_value=None):
            self.assertEqual(svg.write_png("a.svg", "a.png"),
                             "a.png is not made: rsvg-convert is not installed (Debian: librsvg2-bin)")


if __name__ == "__main__":
    unittest.main()
