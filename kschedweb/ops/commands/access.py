"""Ways in for others: kubeconfigs and tokens."""

from pathlib import Path

from kschedweb.ops.commands.adding import Commands


def add(commands: Commands) -> None:
    kube = commands.add(
        "kubeconfig",
        "Print a kubeconfig for a cluster of the running service, with a token of its own.",
        "kubernetes.kubeconfig",
    )
    kube.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    kube.add_argument(
        "--role",
        choices=["viewer", "operator", "admin"],
        help="what the token may do (default: admin, with --at viewer)",
    )
    kube.add_argument(
        "--at",
        metavar="WHEN",
        help='lead to the cluster as it was: RV.SEQ, a time of its clock ("2026-11-25 22:55", UTC), or "10m ago"',
    )
    kube.add_argument("--node", metavar="NODE", default="", help="the token is that of this node's kubelet")
    kube.add_argument("--out", type=Path, metavar="FILE", help="write to this file, readable by you only")
    kube.add_argument("--server", metavar="URL", help="how the service is reached (default: as it listens)")
    kube.add_argument("--revoke", metavar="TOKEN", help="end this token instead")

    tokens = commands.add(
        "token", "Make a token for the REST API of the running service, list tokens, end one.", "tokens.token"
    )
    tokens.add_argument(
        "action", choices=["make", "list", "revoke"], help="make prints the token on stdout and nothing else"
    )
    tokens.add_argument("--name", help="name of the token (default of a new one: token-1 and so on)")
    tokens.add_argument(
        "--role",
        choices=["viewer", "operator", "admin"],
        default="viewer",
        help="the most that a new one may do (default: viewer)",
    )
    tokens.add_argument("--days", type=int, default=90, help="until a new one ends, at most 366 (default: 90)")
    tokens.add_argument("--user", metavar="NAME", default="", help="whose it is (default: the first administrator's)")
    tokens.add_argument("--all", action="store_true", help="list those that are over, too")
    tokens.add_argument("--json", action="store_true", help="print one JSON document")
