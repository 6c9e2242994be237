"""A process whose threads had large blocks is as small afterwards as it was before."""

import subprocess
import sys

from kschedweb.environment import ROOT

# Threads that come and go, as those of requests do, each with a block of 10 MB that it writes to.
THREADS = """
import threading
from pathlib import Path
from kschedweb.common.memory import give_back_freed

def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

give_back_freed()
before = memory()
together = threading.Barrier(16)

def work():
    for _ in range(3):
        block = bytearray(b"x") * 10_000_000
        together.wait()
        del block

threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(memory() - before)
"""


def test_freed_memory_goes_back() -> None:
    words = [sys.executable, "-c", THREADS]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30_000_000
