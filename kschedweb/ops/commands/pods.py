"""Pods that wait, have a node or are gone, and why."""

from pathlib import Path

from kschedweb.ops.commands.adding import Commands


def add(commands: Commands) -> None:
    why = commands.add(
        "why", "Say what kept a pod from all nodes in its last attempt, or why it has its node.", "explaining.why"
    )
    why.add_argument(
        "pod",
        nargs="?",
        metavar="[NAMESPACE/]POD",
        help="the pod; without a namespace, of default (default: what keeps all pending pods)",
    )
    why.add_argument("--again", action="store_true", help="make the attempt again: every score of the chosen node")
    why.add_argument("--node", help="with --again, and of this node")
    why.add_argument(
        "--not",
        dest="other",
        nargs="?",
        const="",
        metavar="NODE",
        help="why its last node, and not this one (default: the best of the others), and what weight would turn it",
    )
    why.add_argument(
        "--evicted",
        action="store_true",
        help="why it was evicted, gone or not, and what other nodes would have cost",
    )
    why.add_argument(
        "--since",
        nargs="?",
        const=0,
        type=int,
        metavar="ATTEMPT",
        help="which nodes changed verdict since this attempt (default: the one before the last), and by which entry",
    )
    why.add_argument("--cluster", help="name of the cluster (default: the only one there is)")
    why.add_argument("--json", action="store_true", help="print one JSON document")

    fit = commands.add(
        "fits",
        "Say what would make pods fit: changes that were tried. Exit code 0: they fit as they are; 1: not; 2: error.",
        "fitting.fits",
    )
    fit.add_argument("pod", nargs="?", metavar="[NAMESPACE/]POD", help="the pod; without a namespace, of default")
    fit.add_argument(
        "-f",
        dest="file",
        type=Path,
        metavar="FILE",
        help="the manifest of a pod that is not there; - for standard input",
    )
    fit.add_argument(
        "--owner",
        metavar="[NAMESPACE/]KIND/NAME",
        help="all pods of a workload that have no node, together: Deployment/web",
    )
    fit.add_argument(
        "--at", metavar="WHEN", help='as it was then: RV.SEQ, a time ("2026-11-25 22:55", UTC), or "10m ago"'
    )
    fit.add_argument(
        "--cost", action="append", metavar="KIND=POINTS", help="points of a change, as evict=10; repeatable"
    )
    fit.add_argument("--limit", type=int, default=10, help="suggestions at most (default: 10)")
    fit.add_argument("--apply", type=int, metavar="N", help="carry out the Nth of them: 1 is the first that is printed")
    fit.add_argument("--dry-run", action="store_true", help="with --apply: only say what would be written")
    fit.add_argument("--fork", metavar="NAME", help="with --apply: in a copy of the cluster, made under this name")
    fit.add_argument("--cluster", help="name of the cluster (default: the only one there is)")
    fit.add_argument("--json", action="store_true", help="print one JSON document")
