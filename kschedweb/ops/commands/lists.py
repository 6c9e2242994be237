"""What there is: lists, and what is found by name."""

import argparse

from kschedweb.ops.commands.adding import Commands
from kschedweb.query import LISTS, help_text

FOUND_KINDS = (
    "pod", "node", "workload", "namespace", "priorityclass", "reason", "configuration", "cluster", "gonepod",
)  # fmt: skip


def add(commands: Commands) -> None:
    find = commands.add(
        "find", "Find pods (also those that are gone), nodes, workloads, reasons and more by name.", "finding.find"
    )
    find.add_argument("word", metavar="WORD", help="part of a name, or parts of its words: opod12 is openb-pod-0012")
    find.add_argument("--cluster", metavar="NAME", help="only in this cluster (default: in all)")
    find.add_argument("--kind", action="append", metavar="KIND,...", help=f"only these: {', '.join(FOUND_KINDS)}")
    find.add_argument("--limit", type=int, default=8, help="of what is found of each kind, at most 50 (default: 8)")
    find.add_argument("--json", action="store_true", help="print one JSON document")

    for one in LISTS.values():
        shown = commands.add(
            one.name,
            f"List {one.name} of a cluster of the running service.",
            "listing.show",
            description=f"{one.text} The query:\n\n{help_text(one)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        names = ", ".join(column.name for column in one.columns)
        shown.add_argument("query", nargs="*", metavar="QUERY", help="which, in one word or several (default: all)")
        shown.add_argument("--cluster", help="name of the cluster (default: the only one)")
        shown.add_argument("--sort", default=one.sort, help=f"a column; --sort=-COLUMN downwards (default: {one.sort})")
        shown.add_argument("--columns", metavar="NAME,...", help=f"of {names}")
        shown.add_argument("--limit", type=int, default=50, help="rows at most, 0 for all (default: 50)")
        form = shown.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print all rows as one JSON document")
        form.add_argument("--csv", action="store_true", help="print all rows as CSV")
