"""Parsing takes time in proportion to the text, whatever its shape: counted in instructions under valgrind, at sizes n, 2n
and 4n. What the process costs beside cancels out."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM = os.environ.get("TEXT_PARSE")
BYTES = 8192
MOST = 2.5  # 2 of what is linear, 4 of what is quadratic.


def instructions(shape, size):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, "--once", shape, "--bytes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


@unittest.skipUnless(PROGRAM and shutil.which("valgrind"), "wants valgrind and a build that runs under it")
class ParseScaleTest(unittest.TestCase):
    def test_every_shape_is_linear(self):
        shapes = subprocess.run([PROGRAM, "--shapes"], capture_output=True, text=True, check=True).stdout.split()
        self.assertGreater(len(shapes), 15)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = {shape: [pool.submit(instructions, shape, BYTES << i) for i in range(3)] for shape in shapes}
        for shape, futures in counts.items():
            once, twice, four = (future.result() for future in futures)
            ratio = (four - twice) / max(twice - once, BYTES)
            print(f"{shape:20} {(four - twice) / (2 * BYTES):8.0f} instructions a byte, {ratio:.2f}", file=sys.stderr)
            with self.subTest(shape):
                self.assertLess(ratio, MOST)


if __name__ == "__main__":
    unittest.main()
