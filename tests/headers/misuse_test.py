"""misuse_test.py COMPILER FLAG...: the compiler refuses misuse.cc, and of its errors one says each `// says:` there."""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(__file__).resolve().parent / "misuse.cc"
run = subprocess.run([*sys.argv[1:], "-fsyntax-only", source], stderr=subprocess.PIPE, text=True)
errors = "\n".join(line for line in run.stderr.splitlines() if "error: " in line)  # Without the code that they show.
missing = [words for words in re.findall(r"// says: (.*)", source.read_text()) if words not in errors]
if missing or run.returncode == 0:
    sys.exit(f"{run.stderr}\nmisuse.cc: exit status {run.returncode}; not said:\n" + "\n".join(missing))
