"""Starting and stopping the service, and what it keeps."""

import argparse
import os

from kschedweb.ops.commands.adding import Commands

DEFAULT_PORT = 8480


def add(commands: Commands) -> None:
    start = commands.add("up", "Start the service and keep it running until Ctrl-C.")
    start.add_argument(
        "--host", default=os.environ.get("KSCHED_HOST") or "127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    start.add_argument(
        "--port",
        type=_port,
        default=os.environ.get("KSCHED_PORT") or str(DEFAULT_PORT),
        help=f"port to listen on (default: {DEFAULT_PORT})",
    )
    start.add_argument("--tls", action="store_true", help="answer https, with a certificate made for this service")
    start.add_argument("--no-sample", action="store_true", help="do not load the sample cluster on the first start")

    commands.add("down", "Stop the service.")

    commands.add("status", "Show the processes of the service and its address.")

    prune = commands.add(
        "prune", "Delete history of clusters, by their retention settings or by those given here.", "pruning.prune"
    )
    prune.add_argument("--cluster", help="name of the cluster (default: all)")
    prune.add_argument(
        "--hours", type=float, help="keep the history of this many hours (at least ten minutes are kept)"
    )
    prune.add_argument("--mb", type=float, help="keep at most this many megabytes of history")
    prune.add_argument("--json", action="store_true", help="print one JSON document")


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 1 to 65535")
    return int(text)
