"""What was: moments, history in files, steps made again."""

import argparse
from pathlib import Path

from kschedweb.ops.commands.adding import Commands
from kschedweb.query import LISTS


def add(commands: Commands) -> None:
    then = commands.add(
        "at", "Show a cluster of the running service as it was at a position of its logs, or a time.", "showing.show"
    )
    then.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    then.add_argument(
        "at", metavar="WHEN", help='RV.SEQ, a time of the cluster\'s clock ("2026-11-25 22:55", UTC), or "10m ago"'
    )
    then.add_argument(
        "what",
        choices=list(dict.fromkeys(["pods", "pod", "nodes", "node", "pending", "cache", "objects", *LISTS])),
        help="what to show; pods and nodes without a query are printed as kubectl does",
    )
    then.add_argument(
        "query",
        nargs="*",
        metavar="NAME|QUERY",
        help="a pod ([NAMESPACE/]POD), a node, or a kind of objects; of the cache a part of names; of a list which,"
        " as in `./ksched pods --help`",
    )
    then.add_argument("--sort", help="of a list: a column; --sort=-COLUMN downwards")
    then.add_argument("--columns", metavar="NAME,...", help="of a list")
    then.add_argument(
        "--limit", type=int, default=50, help="of a list or the cache: rows at most, of a list 0 for all (default: 50)"
    )
    print_as = then.add_mutually_exclusive_group()
    print_as.add_argument("--json", action="store_true", help="print one JSON document")
    print_as.add_argument("--csv", action="store_true", help="print all rows of a list as CSV")

    cache = commands.add(
        "cache", "Show the scheduler's cache: pods assumed and confirmed, nodes and the last snapshot.", "caching.show"
    )
    cache.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    cache.add_argument("query", nargs="*", metavar="TEXT", help="only pods and nodes whose names have this part")
    cache.add_argument("--limit", type=int, default=50, help="of pods and nodes at most so many (default: 50)")
    cache.add_argument("--json", action="store_true", help="print one JSON document, with all nodes")

    again = commands.add(
        "replay", "Make recorded steps of a cluster again, and compare them with their record.", "replaying.replay"
    )
    again.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    again.add_argument(
        "--from",
        dest="first",
        metavar="RV.SEQ",
        help="after this position of both logs (default: from where history begins)",
    )
    again.add_argument("--to", dest="last", metavar="RV.SEQ", help="up to this one (default: all)")
    again.add_argument(
        "--processes", type=int, default=0, metavar="N", help="at once at most (default: one for each processor)"
    )
    again.add_argument("--json", action="store_true", help="print one JSON document")

    history = commands.add(
        "export",
        "Write history of a cluster of the running service into a file, for import elsewhere.",
        "exporting.export",
    )
    history.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    history.add_argument("--out", required=True, type=Path, metavar="FILE", help="the file to write")
    history.add_argument("--at", metavar="WHEN", help="only this moment: RV.SEQ, a time, or how long ago (10m ago)")
    history.add_argument("--from", dest="first", metavar="WHEN", help="from then on (default: where history begins)")
    history.add_argument("--to", dest="last", metavar="WHEN", help="up to then (default: now)")
    history.add_argument("--anonymise", action="store_true", help="replace names, each always by the same")

    held = commands.add(
        "open", "Replay, show and explain a history from a file, without a service.", "opening.open_file"
    )
    held.add_argument("file", type=Path, metavar="FILE", help="what `./ksched export` wrote")
    wanted = held.add_subparsers(dest="what", required=True, metavar="WHAT")

    def of_file(name: str, text: str) -> argparse.ArgumentParser:
        return wanted.add_parser(name, help=text, description=text)

    made = of_file("replay", "Make the steps again, and compare them with their record.")
    made.add_argument("--from", dest="first", metavar="RV.SEQ", help="after this position (default: all)")
    made.add_argument("--to", dest="last", metavar="RV.SEQ", help="up to this one (default: all)")
    shown = of_file("at", "Show objects, or the scheduler's cache, as they were.")
    shown.add_argument("at", metavar="WHEN", help="RV.SEQ, a time, or how long before the end (10m ago)")
    shown.add_argument("shown", choices=["pods", "pod", "nodes", "node", "objects", "cache"], help="what to show")
    named = "a pod ([NAMESPACE/]POD), a node, a kind of objects; of the cache a part of names"
    shown.add_argument("name", nargs="?", metavar="NAME", help=named)
    told = of_file("why", "Say what became of a pod in its last attempt.")
    told.add_argument("pod", metavar="[NAMESPACE/]POD", help="the pod; without a namespace, of default")
    told.add_argument("--again", action="store_true", help="make the attempt again: every score of the chosen node")
    told.add_argument("--node", help="and of this node")
    for each in (made, shown, told):
        each.add_argument("--json", action="store_true", help="print one JSON document")
