"""Exact counts of one launch, by callgrind: instructions, heap allocations, and atomic read-modify-writes.

benchmarks/launch_count marks each row's run of few launches and its run of many; callgrind counts each apart, and the
difference is what the further launches cost. One process does all rows, so its start is paid for once.
"""
import collections
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

MARK = "SlipwayMeasuredRun"
BARE_FORMS = ("bare_buffer", "bare_params")  # Of which `bare` is the cheaper.


class NotHere(Exception):
    """What counting needs and this machine lacks."""


def find_program(build):
    program = pathlib.Path(build) / "bin/launch_count"
    if not program.exists():
        raise NotHere(f"there is no {program}; build the target launch_count")
    if not shutil.which("valgrind"):
        raise NotHere("valgrind is not installed (Debian: apt-get install valgrind)")
    return program


def count(build, path=None, case=None, atomics=False, loaded=0):
    """Rows {path, case, instructions, allocations[, atomics]} a launch, in the program's order, `bare` before its
    forms; with so many other kernels loaded. `atomics` is None where it cannot be told (no objdump, or not x86-64).
    """
    program = find_program(build)
    arguments = ["--loaded", str(loaded)] if loaded else []
    if path is not None and path != "bare":
        arguments += ["--path", path]
    if case is not None:
        arguments += ["--case", case]
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out"
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--zero-before={MARK}", f"--dump-after={MARK}", "--dump-instr=yes",
             "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}", program, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"launch_count under valgrind ended with {run.returncode}:\n{run.stderr}")
        rows = []
        disassembly = Disassembly() if atomics else None
        for index, line in enumerate(run.stdout.splitlines()):
            name, case_name, few, few_allocations, many, many_allocations = line.split()
            if path == "bare" and name not in BARE_FORMS:
                continue
            launches = int(many) - int(few)
            few_file, many_file = (pathlib.Path(f"{out}.{2 * index + k}") for k in (1, 2))
            further = executed(many_file)
            further.subtract(executed(few_file))
            row = {"path": name, "case": case_name,
                   "instructions": sum(further.values()) / launches,
                   "allocations": (int(many_allocations) - int(few_allocations)) / launches}
            if atomics:
                row["atomics"] = disassembly.atomics(further, launches)
            rows.append(row)
    return with_bare(rows)


def with_bare(rows):
    """Adds, in front, for every case the cheaper of the bare forms under the name `bare`."""
    forms = collections.defaultdict(list)
    for row in rows:
        if row["path"] in BARE_FORMS:
            forms[row["case"]].append(row)
    return [{**min(both, key=lambda row: row["instructions"]), "path": "bare"} for both in forms.values()] + rows


def executed(file):
    """How often each instruction ran, by (object file, address), of a callgrind file with instructions. Their sum is
    what counts: once there have been threads, the file's own totals include what ran between two marks."""
    runs = collections.Counter()
    current = None
    inclusive = False  # The line after a calls= line is the callee's cost.
    for line in file.read_text().splitlines():
        if line.startswith("ob="):
            current = line[3:]
        elif line.startswith("calls="):
            inclusive = True
        elif line.startswith("0x"):
            if not inclusive:
                address, _, cost = line.split()[:3]
                runs[current, int(address, 16)] += int(cost)
            inclusive = False
    return runs


class Disassembly:
    """Which addresses of object files hold atomic read-modify-writes, by objdump, each file looked at once."""

    # A lock prefix, or an exchange with memory, which locks without one (Intel SDM, volume 2, "LOCK" and "XCHG").
    PATTERN = re.compile(r"^ *([0-9a-f]+):\s+(?:lock\b|xchg\s[^#\n]*\()", re.MULTILINE)

    def __init__(self):
        self.known = shutil.which("objdump") is not None and platform.machine() == "x86_64"
        self.files = {}

    def of(self, file):
        if file not in self.files:
            text = ""
            if pathlib.Path(file).exists():
                text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout
            self.files[file] = {int(found, 16) for found in self.PATTERN.findall(text)}
        return self.files[file]

    def atomics(self, runs, launches):
        if not self.known:
            return None
        found = sum(times for (file, address), times in runs.items() if times > 0 and address in self.of(file))
        return found / launches
