#!/usr/bin/env python3
"""A benchmark that says what a test wants. Its folder's behaviour.json holds the rows, and how each further run ends:
{"rows": [..], "ends": {"2": "exit" | "kill" | "text" | "hang"}}, by number of run from 0. Each run adds a line to the
folder's log: its number, the affinity, the arguments. A run named in "rows_of" has rows of its own."""
import json
import os
import pathlib
import signal
import sys
import time

folder = pathlib.Path(sys.argv[0]).resolve().parent
behaviour = json.loads((folder / "behaviour.json").read_text())
log = pathlib.Path(behaviour["log"])
number = sum(line.split()[0] == folder.name for line in log.read_text().splitlines()) if log.exists() else 0
with log.open("a") as file:
    print(folder.name, number, *sorted(os.sched_getaffinity(0)), *sys.argv[1:], file=file)

end = behaviour.get("ends", {}).get(str(number))
if end == "exit":
    sys.exit("row 'x': the oracle says 7 and the result is 8")
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "hang":
    time.sleep(60)
if end == "text":
    print("not JSON")
    sys.exit(0)
print(json.dumps({"rows": behaviour.get("rows_of", {}).get(str(number), behaviour["rows"])}))
