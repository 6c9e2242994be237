"""Types that several threads read first at the same time."""

import subprocess
import sys

from tests.waiting import HANG_SECONDS

# Threads change as often as they can, and all classes of the API are read by each of them.
READING = """
import sys, threading
from scheduler_core.api.manifests import CLASSES, convert
from scheduler_core.errors import ManifestError

sys.setswitchinterval(1e-6)
begin = threading.Barrier(4)

def read():
    begin.wait()
    for kind in sorted(CLASSES):
        try:
            convert({"metadata": {"name": "otter"}, "spec": {}}, CLASSES[kind])
        except ManifestError:
            pass

threads = [threading.Thread(target=read) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("read")
"""


def test_types_are_read_by_several_threads_from_the_first_time_on() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", READING], capture_output=True, text=True, timeout=HANG_SECONDS)
        assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
