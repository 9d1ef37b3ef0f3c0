"""What the README says in numbers, from the report of tools/measure: the table, and the plot of ratios."""
import math
import re

from bench import environment, launch_figures, svg

HEADLINE = "3x1d+s"


class Figures:
    """The figures of a report in the terms of the table; None for what was not measured."""

    def __init__(self, report):
        self.of = {name: section["figures"] for name, section in report["sections"].items()}

        self.launches = launch_figures.Figures(self.of["count"], self.of.get("latency")) if "count" in self.of else None

    def typed_to_bare(self, case, of="instructions"):
        values = getattr(self.launches, of, {})
        if ("typed", case) not in values:
            return None
        return values["typed", case] / values["bare", case]

    def latency(self, name, key):
        """A figure of one of launch_latency's rows by its name, or None."""
        rows = self.of.get("latency", {}).get("benchmarks", [])
        return next((row[key] for row in rows if row.get("run_name", row["name"]) == name), None)

    def costs(self):
        """(label, times the yardstick, the most that is allowed): lower is better."""
        rows = [(f"CPU device saxpy, {run['kernel']}", run["ratio"], 1.15)
                for run in self.of.get("cpu", {}).get("runs", [])]
        if self.typed_to_bare(HEADLINE):
            rows.append(("typed launch, 3 arrays and a scalar", self.typed_to_bare(HEADLINE), 1.5))
        if self.sizes():
            kernels = len({row["kernel"] for row in self.sizes()})
            rows.append((f"SASS, {kernels} kernels, mean to NVRTC", self.size_ratio("slipway"), 1.0))
            rows.append(("SASS, specialised, mean to NVRTC's generic", self.size_ratio("specialized"), 0.85))
        return rows

    def sizes(self):
        return [row for row in self.of.get("sass", []) if row["nvrtc"]]

    def size_ratio(self, key):
        """The geometric mean of instructions to NVRTC's."""
        return geometric_mean([row[key] / row["nvrtc"] for row in self.sizes()])

    def compile_ratios(self, key):
        return [row[key] / row["slipway_us"] for row in self.of.get("compile", []) if row["nvrtc_us"]]

    def speedups(self):
        """(label, times faster than NVRTC, the least that is wanted): higher is better."""
        rows = []
        text = self.of.get("text")
        if text and text["nvrtc_us"]:
            rows.append(("saxpy from text", text["nvrtc_us"] / text["text_to_ptx_us"], 6))
        ratios = self.compile_ratios("nvrtc_us")
        if ratios:
            rows.append((f"{len(ratios)} kernels, geometric mean", geometric_mean(ratios), 8))
            rows.append(("--minimal, geometric mean", geometric_mean(self.compile_ratios("nvrtc_minimal_us")), 6))
            rows.append(("the least of them", min(ratios), 3))
        return rows


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def minutes(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def table(report):
    figures = Figures(report)
    of = figures.of
    rows = []

    def row(what, goal, measured, command):
        rows.append(f"| {what} | {goal} | {measured} | `{command}` |")

    if "clone" in of:
        row("clone to the demo's last line, packages there", "under 6 min", minutes(of["clone"]["demo_s"]),
            "tools/measure --only clone")
        row("clone to the last test, packages there", "under 15 min", minutes(of["clone"]["test_s"]),
            "tools/measure --only clone")
    if "cpu" in of:
        ratios = ", ".join(f"{run['kernel']} {run['ratio']:.2f}" for run in of["cpu"]["runs"])
        row(f"saxpy over 10⁷ float32 on the CPU device, against `g++ -O3 -march=native` on as many threads "
            f"({of['cpu']['threads']})", "at most 1.15 times", ratios + " times", "bin/cpu_saxpy")
    text = of.get("text")
    if text:
        times = f"{text['text_to_ptx_us'] / 1000:.1f} ms"
        if text["nvrtc_us"]:
            times = f"{text['nvrtc_us'] / text['text_to_ptx_us']:.1f} times; {times}"
        row(f"text to PTX, `{text['text']}` in a warm process, against NVRTC in alternation", "at least 6 times faster",
            times, "bin/text_compile")
    ratios = figures.compile_ratios("nvrtc_us")
    if ratios:
        minimal = geometric_mean(figures.compile_ratios("nvrtc_minimal_us"))
        row(f"{len(ratios)} kernels to PTX, against NVRTC and NVRTC --minimal in alternation, geometric means",
            "at least 8 and 6 times faster, none below 3",
            f"{geometric_mean(ratios):.1f} and {minimal:.1f} times; least {min(ratios):.1f}", "bin/compile_time")
    shapes = of.get("parse")
    if shapes:
        speeds = [shape["parse_mb_per_s"] for shape in shapes]
        row(f"parsing of long formulas, and of {len(shapes) - 1} shapes that parsers are slow at", "at least 2 MB/s",
            f"{speeds[0]:.0f} MB/s, the slowest shape {min(speeds):.0f}", "bin/text_parse")
    first = of.get("first")
    if first:
        row("a fresh process to its first result, saxpy on the CPU device, from main on",
            "5 times sooner with a disk cache",
            f"{first['without_us'] / 1000:.0f} ms without a disk cache, {first['with_us'] / 1000:.1f} ms with it",
            "bin/first_result")
    launches = figures.launches
    if launches:
        bare, typed = (launches.instructions[path, HEADLINE] for path in ("bare", "typed"))
        row("typed launch of 3 strided arrays and a scalar, in instructions, against packing by hand and the bare call",
            "at most 1.5 times", f"{typed / bare:.2f} times ({typed:g} to {bare:g})", "tools/count_launch_instructions")
    if launches and launches.ns:
        ratios = ", ".join(f"{figures.typed_to_bare(case, 'ns'):.2f}" for case in launch_figures.CASES)
        row("typed launch in nanoseconds, against the bare call in the same run: " + ", ".join(launch_figures.CASES),
            "at most 1.5 times", ratios + " times", "bin/launch_latency")
    if launches:
        allocations, atomics = (sum(r.get(key) or 0 for r in of["count"]["rows"]) for key in ("allocations", "atomics"))
        row("heap allocations and atomic read-modify-writes of a launch, every path and case", "0",
            f"{allocations:g} and {atomics:g}", "tools/check_launch_counts")
    one, two = (figures.latency(f"threads/typed/real_time/threads:{n}", "items_per_second") for n in (1, 2))
    if one and two:
        row("launches a second on two threads and streams, to one", "at least 1.9 times", f"{two / one:.2f} times",
            "bin/launch_latency")
    few, many = (figures.latency(f"loaded/typed/{n}", "per_launch") for n in (0, 100000))
    if few and many:
        row("a launch with 100,000 kernels loaded, to one with none", "no more", f"{many / few:.2f} times",
            "bin/launch_latency")
    sizes = figures.sizes()
    if sizes:
        longer = {r["kernel"] for r in sizes if r["slipway"] > r["nvrtc"]}
        kernels = len({r["kernel"] for r in sizes})
        row(f"SASS instructions of {kernels} kernels for sm_75, sm_90 and sm_120, ours to NVRTC's, geometric mean; and "
            "specialised to NVRTC's generic", "no more, but for three by 2%; at most 0.85",
            f"{figures.size_ratio('slipway'):.2f}, {len(longer)} are longer "
            f"([each](docs/generated-code.md#beside-nvrtc)); {figures.size_ratio('specialized'):.2f}",
            "bin/sass_size --check")
    return "\n".join(["| what | goal | measured | measured by |", "|---|---|---|---|", *rows])


def heading(report):
    env = report["environment"]
    compiler = environment.short_compiler(env["compiler"])
    parts = [re.sub(r" \(.*\)| GNU/Linux", "", env["system"]), f"{env['cores']} cores", compiler, f"LLVM {env['llvm']}"]
    if env["cuda"]:
        parts.append(f"NVRTC and ptxas of CUDA {env['cuda']}")
    return ", ".join(parts) + "; each ratio within one run. Programs of `bin/` are in `build/default/bin`."


def plot(report):
    """The SVG text: ratios, each a bar, with a tick at its goal."""
    figures = Figures(report)
    rows = max(len(figures.costs()), len(figures.speedups()), 1)
    canvas = svg.Canvas(880, 150 + 26 * rows, "Ratios to yardsticks")

    def panel(x, label_width, bar_width, title, rows, colour, limit_word, digits):
        y = 44
        canvas.text(x, y - 14, title, "start", 'font-size="14" font-weight="700"')
        if not rows:
            canvas.text(x, y + 16, "not measured", "start")
            return
        most = max([value for _, value, _ in rows] + [goal or 0 for _, _, goal in rows]) * 1.04
        for label, value, goal in rows:
            canvas.text(x + label_width - 8, y + 15, label, "end")
            canvas.rect(x + label_width, y + 3, value / most * bar_width, 17, colour)
            canvas.text(x + label_width + 6, y + 16, f"{value:.{digits}f}", "start", 'fill="#fff" font-weight="700"')
            if goal is not None:
                at = x + label_width + goal / most * bar_width
                canvas.line([(at, y), (at, y + 23)], svg.RED, 'stroke-width="2.5"')
            y += 26
        for tick in [0, 1] if most < 3 else range(0, int(most) + 1, 2):
            at = x + label_width + tick / most * bar_width
            canvas.line([(at, y + 2), (at, y + 6)], svg.DARK)
            canvas.text(at, y + 19, tick, "middle", f'fill="{svg.GREY}"')
        canvas.line([(x + label_width, y + 2), (x + label_width + bar_width, y + 2)], svg.DARK)
        canvas.text(x + label_width + bar_width / 2, y + 34, f"times; red: {limit_word}", "middle",
                    f'fill="{svg.GREY}"')

    panel(16, 280, 176, "Cost against the yardstick (lower is better)", figures.costs(), "#2563b0",
          "the most allowed", 2)
    panel(510, 130, 224, "Speed to PTX against NVRTC (higher is better)", figures.speedups(), "#3b8f5a",
          "the least wanted", 1)
    small = f'font-size="11" fill="{svg.GREY}"'
    canvas.text(16, canvas.height - 28, "By cpu_saxpy, launch_count, sass_size, text_compile and compile_time in "
                "build/default/bin.", "start", small)
    canvas.text(16, canvas.height - 12, f"Made by tools/measure --update-readme on {heading(report).split(';')[0]}.",
                "start", small)
    return canvas.render()
