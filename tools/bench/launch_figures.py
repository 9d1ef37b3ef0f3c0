"""What launches cost, as a table and as a plot: from the JSON of tools/count_launch_instructions --json and, for
nanoseconds, of bin/launch_latency (Google Benchmark's)."""
import re

from bench import svg

# In the order of tables, legends and bars.
PATHS = {  # path -> (words, colour)
    "bare": ("bare driver call, packed by hand", "#8a93a3"),
    "bound": ("bound", "#1f8a70"),
    "typed": ("typed", "#2563b0"),
    "dynamic": ("dynamic", "#5ba3d9"),
    "trait": ("dynamic, own tensor type", "#9b59b6"),
    "signature": ("by signature", "#e0912f"),
    "elementwise": ("elementwise formula", "#c0504d"),
}
CASES = {"0": "no arguments", "4s": "4 scalars", "3x1d": "3 arrays, 1-D", "3x2d": "3 arrays, 2-D",
         "8x3d": "8 arrays, 3-D"}
# The most instructions that a launch may take, by the project's goals; elementwise has 1.5 times typed's.
GOALS = {
    "typed": {"0": 36, "4s": 50, "3x1d": 62, "3x2d": 68, "8x3d": 160},
    "bound": {"0": 32, "4s": 32, "3x1d": 32, "3x2d": 32, "8x3d": 32},
    "dynamic": {"0": 50, "4s": 70, "3x1d": 95, "3x2d": 105, "8x3d": 220},
    "trait": {"0": 50, "4s": 70, "3x1d": 95, "3x2d": 105, "8x3d": 220},
    "signature": {"0": 76, "4s": 90, "3x1d": 100, "3x2d": 106, "8x3d": 195},
    "elementwise": {"4s": 75, "3x1d": 93, "3x2d": 102, "8x3d": 240},
}
COUNTS = {"0": 0, "1x1d": 1, "3x1d": 3, "8x1d": 8, "16x1d": 16, "26x1d": 26}  # Arrays of rank 1.
RANKS = {f"1x{n}d": n for n in range(1, 9)}  # Rank of one array.


class Figures:
    def __init__(self, counts, latency=None):
        """`counts` and `latency` are parsed JSON; without `latency` there are no nanoseconds."""
        self.instructions = {(row["path"], row["case"]): row["instructions"] for row in counts["rows"]}
        self.allocations = {(row["path"], row["case"]): row["allocations"] for row in counts["rows"]}
        self.compiler = counts.get("compiler", "")
        self.ns = nanoseconds(latency) if latency else {}

    def paths(self):
        return [path for path in PATHS if any(key[0] == path for key in self.instructions)]


def nanoseconds(latency):
    """(path, case) -> ns: the median of repetitions where there are some, else what was run. Also `bare`."""
    rows = [row for row in latency["benchmarks"] if "per_launch" in row]
    if any(row.get("aggregate_name") == "median" for row in rows):
        rows = [row for row in rows if row.get("aggregate_name") == "median"]
    found = {}
    for row in rows:
        match = re.fullmatch(r"([^/]+)/([^/]+)(?:/manual_time)?", row.get("run_name", row["name"]))
        if match and match.group(1) not in ("threads", "loaded", "graph"):
            found[match.groups()] = row["per_launch"] * 1e9
    for case in {case for _, case in found}:
        forms = [found[form, case] for form in ("bare_buffer", "bare_params") if (form, case) in found]
        if forms:
            found["bare", case] = min(forms)
    return found


def table(figures):
    """Markdown: a line a path; instructions (the most wanted) and nanoseconds of the headline cases."""
    lines = ["| a launch: instructions (at most), ns | " + " | ".join(CASES.values()) + " |",
             "|---" * (1 + len(CASES)) + "|"]
    for path in figures.paths():
        cells = []
        for case in CASES:
            count = figures.instructions.get((path, case))
            if count is None:
                cells.append("")
                continue
            goal = GOALS.get(path, {}).get(case)
            ns = figures.ns.get((path, case))
            cells.append(f"{count:.0f}" + (f" ({goal})" if goal else "") + (f", {ns:.1f} ns" if ns else ""))
        lines.append(f"| {PATHS[path][0]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ticks(most, wanted=5):
    """Round steps from 0 to at least `most`."""
    for step in (0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000):
        if most <= step * wanted:
            break
    return [step * i for i in range(int(-(-most // step)) + 1)]


def axis(canvas, box, most, title):
    """Grid and labels of a panel; gives the function from a value to its y."""
    left, top, right, bottom = box
    marks = ticks(most)

    def y(value):
        return bottom - (bottom - top) * value / marks[-1]

    canvas.text(left - 40, top - 14, title, "start", 'font-size="14" font-weight="700"')
    for mark in marks:
        canvas.line([(left, y(mark)), (right, y(mark))], svg.LIGHT if mark else svg.DARK)
        canvas.text(left - 8, y(mark) + 4, f"{mark:g}", "end", f'fill="{svg.GREY}"')
    return y


def bars(canvas, box, figures, values, title, goals, digits):
    paths = [path for path in figures.paths() if any((path, case) in values for case in CASES)]
    shown = [values[path, case] for path in paths for case in CASES if (path, case) in values]
    if not shown:
        return
    left, _, right, bottom = box
    y = axis(canvas, box, max(shown), title)
    group = (right - left) / len(CASES)
    width = group * 0.86 / len(paths)
    for i, (case, words) in enumerate(CASES.items()):
        for j, path in enumerate(paths):
            if (path, case) not in values:
                continue
            value = values[path, case]
            x = left + (i + 0.07) * group + j * width
            canvas.rect(x, y(value), width - 1.5, bottom - y(value), PATHS[path][1])
            goal = goals.get(path, {}).get(case)
            if goal:
                canvas.line([(x - 1, y(goal)), (x + width - 0.5, y(goal))], svg.RED, 'stroke-width="2"')
            canvas.text(x + width / 2 - 1, y(value) - 3, f"{value:.{digits}f}", "middle",
                        'font-size="9" stroke="#fff" stroke-width="2" paint-order="stroke"')
        canvas.text(left + (i + 0.5) * group, bottom + 17, words)


def lines(canvas, box, figures, cases, title, xlabel):
    values = figures.instructions
    shown = [values[path, case] for path in figures.paths() for case in cases if (path, case) in values]
    if not shown:
        return
    left, _, right, bottom = box
    y = axis(canvas, box, max(shown), title)
    low, high = min(cases.values()), max(cases.values())

    def x(value):
        return left + 10 + (right - left - 20) * (value - low) / (high - low)

    for value in cases.values():
        canvas.text(x(value), bottom + 17, value)
    canvas.text((left + right) / 2, bottom + 34, xlabel, "middle", f'fill="{svg.GREY}"')
    for path in figures.paths():
        points = [(x(value), y(values[path, case])) for case, value in cases.items() if (path, case) in values]
        canvas.line(points, PATHS[path][1], 'stroke-width="2"')
        for point in points:
            canvas.dot(*point, PATHS[path][1])


def plot(figures):
    """The SVG text: headline cases in instructions and nanoseconds, and how the count grows with arrays and ranks."""
    height = 1010 if figures.ns else 710
    canvas = svg.Canvas(920, height, "What a launch costs on the host")
    canvas.text(16, 26, "What a launch costs on the host, by what it is given and how it is written", "start",
                'font-size="16" font-weight="700"')
    x, y = 16, 46
    for path in figures.paths():
        words, colour = PATHS[path]
        if x + 40 + 6.4 * len(words) > 910:
            x, y = 16, y + 20
        canvas.rect(x, y - 10, 11, 11, colour)
        canvas.text(x + 16, y, words, "start")
        x += 34 + 6.4 * len(words)
    bars(canvas, (60, 112, 904, 330), figures, figures.instructions,
         "Instructions of a launch, driver call included (red: at most)", GOALS, 0)
    lines(canvas, (60, 412, 450, 630), figures, COUNTS, "Instructions, by number of arrays", "arrays, 1-D")
    lines(canvas, (514, 412, 904, 630), figures, RANKS, "Instructions, by rank", "rank of one array")
    if figures.ns:
        bars(canvas, (60, 718, 904, 930), figures, figures.ns, "Nanoseconds of a launch", {}, 1)
    small = f'font-size="11" fill="{svg.GREY}"'
    canvas.text(16, height - 28, "On the null driver, whose launch is two instructions. Arrays are strided, arguments "
                "change with every launch, every check is on.", "start", small)
    canvas.text(16, height - 12, "Counts by tools/count_launch_instructions, times by launch_latency; "
                f"{figures.compiler}.", "start", small)
    return canvas.render()
