"""The record of launch counts, benchmarks/launch_counts.txt: how it is read and written, and what breaks it."""
import dataclasses

HEAD = """\
# Host instructions of one launch on the null driver, by path and case (benchmarks/launch_cases.h).
# tools/check_launch_counts fails when a count is above its record here; with --record it rewrites this.
"""
TOLERANCE = 0.05  # Counts are exact; means over a ring of launches may be written down rounded.


@dataclasses.dataclass
class Record:
    compiler: str  # environment.compiler_of() of the build that was counted: other compilers count differently.
    counts: dict  # (path, case) -> instructions


def parse(text):
    record = Record("", {})
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        key, _, rest = line.partition(" ")
        if key == "compiler":
            record.compiler = rest
            continue
        try:
            case, count = rest.split()
            record.counts[key, case] = float(count)
        except ValueError:
            raise ValueError(f"line {number} is '{line}'; wanted: path case instructions") from None
    return record


def render(compiler, rows):
    lines = [f"{row['path']} {row['case']} {round(row['instructions'], 2):g}" for row in rows]
    return HEAD + f"compiler {compiler}\n" + "\n".join(lines) + "\n"


def compare_loaded(rows, with_more, loaded):
    """Failures: rows that cost anything else `with_more`, so many other kernels loaded, than without."""
    alone = {(row["path"], row["case"]): row["instructions"] for row in rows}
    return [f"{row['path']} {row['case']}: {row['instructions']:g} instructions with {loaded:,} kernels loaded, "
            f"{alone[row['path'], row['case']]:g} without; what is loaded costs a launch nothing"
            for row in with_more if row["instructions"] != alone[row["path"], row["case"]]]


def compare(record, rows):
    """(failures, notes), each a line, of counted rows against their record."""
    failures, notes = [], []
    for row in rows:
        name = f"{row['path']} {row['case']}"
        counted, recorded = row["instructions"], record.counts.get((row["path"], row["case"]))
        if row["allocations"] > 0:
            failures.append(f"{name}: {row['allocations']:g} heap allocations a launch; a launch makes none")
        if row.get("atomics"):
            failures.append(f"{name}: {row['atomics']:g} atomic read-modify-writes a launch; a launch makes none")
        if recorded is None:
            failures.append(f"{name}: {counted:g} instructions, and no record of it")
        elif counted > recorded + TOLERANCE:
            failures.append(f"{name}: {counted:g} instructions, {recorded:g} recorded")
        elif counted < recorded - TOLERANCE:
            notes.append(f"{name}: {counted:g} instructions, {recorded:g} recorded")
    counted_rows = {(row["path"], row["case"]) for row in rows}
    failures += [f"{path} {case}: recorded, and not counted any more" for path, case in record.counts
                 if (path, case) not in counted_rows]
    return failures, notes
