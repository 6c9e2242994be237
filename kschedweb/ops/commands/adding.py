"""How a command is added to the command line."""

import argparse
import os
from pathlib import Path
from typing import Any, Final

from kschedweb import environment

LIFECYCLE: Final = (
    "frozen: the scheduler decides, binds and preempts (victims are deleted), and no controllers act;"
    " simulate: pods also start, run and end"
)


class Commands:
    """The commands of a command line; all take the data directory."""

    def __init__(self, parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
        self._parsers = parsers
        self._data = Path(os.environ.get("KSCHED_DATA_DIR") or environment.ROOT / ".ksched")

    def add(self, name: str, text: str, run: str = "", **others: Any) -> argparse.ArgumentParser:
        """A command. `run`: module of kschedweb.ops and function, `module.function`; read when it is asked for, as
        some take long to be read.
        """
        made = self._parsers.add_parser(name, **{"help": text, "description": text, **others})
        made.set_defaults(run=run)
        made.add_argument("--data-dir", type=Path, default=self._data, help="where the service keeps everything")
        return made
