"""A program for test_supervisor.py: `supervised.py DIRECTORY NAME…` supervises children that do nothing but live.

`steady` has a child of its own; `first` and `second` note when they are stopped; `failing` ends at once, for ever.
"""

import sys
from pathlib import Path

from kschedweb.ops.processes import Launch
from kschedweb.ops.supervisor import Supervisor

STEADY = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', CHILD]); time.sleep(600)"
# What our own processes do for theirs: it dies with its parent.
CHILD = """
import os, signal, time
from kschedweb.ops.processes import die_with_parent
die_with_parent(signal.SIGKILL, parent=os.getppid())()
open(f"{os.environ['DIRECTORY']}/grandchild", "w").write(str(os.getpid()))
time.sleep(600)
"""


def main(directory: Path, names: list[str]) -> None:
    order = directory / "order"
    programs = {
        "steady": STEADY.replace("CHILD", repr(CHILD)),
        "first": _ordered("first", order),
        "second": _ordered("second", order),
        "failing": "import sys; print('RuntimeError: nothing to do', flush=True); sys.exit(3)",
    }
    with Supervisor(directory=directory, say=lambda text: print(text, flush=True)) as watch:
        for stage, name in enumerate(names):
            launch = Launch(argv=(sys.executable, "-c", programs[name]), environment={"DIRECTORY": str(directory)})
            watch.start(name, lambda launch=launch: launch, stage=stage)
        print("running", flush=True)
        watch.run()
    print("stopped", flush=True)


def _ordered(name: str, order: Path) -> str:
    return (
        "import signal, sys, time\n"
        f"def end(*_):\n    open({str(order)!r}, 'a').write('{name} '); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"open({str(order) + '-ready-' + name!r}, 'w')\n"
        "time.sleep(600)"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
