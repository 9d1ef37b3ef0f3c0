"""From what the harness prints and callgrind writes to the report's rows and its tables. Runs nothing."""
import json
import pathlib
import re
import shutil

BEGIN, END = "<!-- Made by benchmarks/peers/run --update-docs. -->", "<!-- End of what benchmarks/peers/run made. -->"
COLUMNS = ["0", "4s", "16s", "1x1d", "3x1d", "8x1d", "26x1d", "3x2d", "8x3d"]


def has_valgrind():
    return shutil.which("valgrind") is not None and shutil.which("callgrind_control") is not None


def cpu():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else "unknown"


def parse_rows(output):
    """The JSON objects among the lines of `output`; a peer may print lines of its own."""
    rows = []
    for line in output.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def merge(result, rows):
    """Puts the harness's rows into a peer's result: facts about the peer at its top, measurements under `rows`."""
    into = result.setdefault("rows", [])
    for row in rows:
        if "way" not in row:
            result.update(row)
            continue
        for known in into:
            if (known["way"], known["case"]) == (row["way"], row["case"]):
                known.update(row)
                break
        else:
            into.append(dict(row))


def dump_total(text):
    """The instructions of one callgrind dump, or None if it is not a whole one."""
    found = re.search(r"^totals: (\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else None


def read_dumps(out):
    """The totals of `out`.1, `out`.2 and so on: what was counted before the first mark, between it and the second..."""
    totals = []
    while True:
        path = pathlib.Path(f"{out}.{len(totals) + 1}")
        if not path.exists():
            return totals
        totals.append(dump_total(path.read_text()))


def count_sections(rows, dumps):
    """Turns rows that name their marks into rows of instructions per launch."""
    counted = []
    for row in rows:
        section = row.pop("section", None)
        launches = row.pop("launches", None)
        if section is None:
            if "failed" in row or "version" in row:
                counted.append(row)
            continue
        if section + 2 > len(dumps):
            counted.append({**row, "count_failed": "callgrind wrote no such dump"})
            continue
        # dumps[section] ends at the mark after `section`: N launches; the next has 3 N.
        counted.append({**row, "instructions": round((dumps[section + 1] - dumps[section]) / launches)})
    return counted


def _number(value):
    return "" if value is None else f"{value:,.0f}"


def _grid(report, key):
    lines = []
    ours = {}
    for row in report.get("ours", []):
        ours.setdefault(f"**Slipway, {row['path']}**" if row["path"] != "bare" else "bare call, packed by hand",
                        {})[row["case"]] = row.get(key)
    theirs = {}
    for peer in report["peers"]:
        for row in peer.get("rows", []):
            label = f"{peer['peer']} {peer.get('version', '')}, {row['way']}"
            theirs.setdefault(label, {})[row["case"]] = row.get(key)
    columns = [c for c in COLUMNS if any(rows.get(c) is not None for rows in (*ours.values(), *theirs.values()))]
    if not columns:
        return ""
    lines.append("| | " + " | ".join(columns) + " |")
    lines.append("|---|" + "---:|" * len(columns))
    for label, rows in (*ours.items(), *theirs.items()):
        if any(rows.get(c) is not None for c in columns):
            lines.append(f"| {label} | " + " | ".join(_number(rows.get(c)) for c in columns) + " |")
    return "\n".join(lines)


def ratios(report, path):
    """{peer and way: the least times that it takes of Slipway's `path` in instructions, over the cases of both}."""
    ours = {row["case"]: row["instructions"] for row in report.get("ours", [])
            if row["path"] == path and row.get("instructions")}
    least = {}
    for peer in report["peers"]:
        for row in peer.get("rows", []):
            if row.get("instructions") and ours.get(row["case"]):
                label = f"{peer['peer']}, {row['way']}"
                ratio = row["instructions"] / ours[row["case"]]
                if label not in least or ratio < least[label][0]:
                    least[label] = (ratio, row["case"])
    return least


def markdown(report):
    parts = [f"{report['machine']['cpu']}, Python {report['machine']['python']}, {report['driver']} driver. Cases: 4s is "
             "four scalars, 3x2d three strided arrays of rank 2, and so on."]
    for key, title in (("instructions", "Host instructions of one launch"), ("ns", "Nanoseconds of one launch")):
        grid = _grid(report, key)
        if grid:
            parts.append(f"### {title}\n\n{grid}")
    paths = [path for path in ("bound", "typed", "dynamic", "signature") if ratios(report, path)]
    if paths:
        lines = ["| times Slipway's instructions, in the case that is best for the peer | " + " | ".join(paths) + " |",
                 "|---|" + "---:|" * len(paths)]
        by_path = {path: ratios(report, path) for path in paths}
        for label in by_path[paths[0]]:
            cells = [f"{by_path[p][label][0]:,.0f} ({by_path[p][label][1]})" if label in by_path[p] else "" for p in paths]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        parts.append("### Ratios\n\n" + "\n".join(lines))
    absent = [f"- {peer['peer']} {peer.get('version', '')}: {peer['stage']}: {peer['failed']}" for peer in report["peers"]
              if "failed" in peer]
    for peer in report["peers"]:
        absent += [f"- {peer['peer']}, {row['way']}, case {row['case']}: {row['failed']}" for row in peer.get("rows", [])
                   if "failed" in row]
    if absent:
        parts.append("### What does not come up\n\n" + "\n".join(absent))
    return "\n\n".join(parts)


def update_docs(path, report):
    text = path.read_text()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise SystemExit(f"peers: {path} lacks the lines '{BEGIN}' and '{END}'")
    path.write_text(f"{text[:begin]}{BEGIN}\n\n{markdown(report)}\n\n{text[end:]}")
