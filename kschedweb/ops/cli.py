"""The commands of ./ksched, once its environment is there. Each command's own module does the work."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kschedweb import environment
from kschedweb.ops import certificates, postgres, supervisor, up, valkey
from kschedweb.query import LISTS, help_text

DEFAULT_PORT = 8480
FOUND_KINDS = (
    "pod", "node", "workload", "namespace", "priorityclass", "reason", "configuration", "cluster", "gonepod",
)  # fmt: skip
LIFECYCLE = (
    "frozen: the scheduler decides, binds and preempts (victims are deleted), and no controllers act;"
    " simulate: pods also start, run and end"
)
# What the user can solve.
PROBLEMS = (
    up.UpProblem,
    certificates.CertificateProblem,
    postgres.PostgresProblem,
    valkey.ValkeyProblem,
    PermissionError,
)
# Module of kschedweb.ops and function of a command. It is read when it is asked for, as some take long to be read.
_COMMANDS = {
    "why": ("explaining", "why"),
    "fits": ("fitting", "fits"),
    "prune": ("pruning", "prune"),
    "find": ("finding", "find"),
    "at": ("showing", "show"),
    "cache": ("caching", "show"),
    "replay": ("replaying", "replay"),
    "config": ("configuring", "configure"),
    "kubeconfig": ("kubernetes", "kubeconfig"),
    "token": ("tokens", "token"),
    "cluster": ("kubernetes", "cluster_create"),
    "mirror": ("mirroring", "mirror"),
    "fork": ("mirroring", "fork"),
    "import": ("client", "import_files"),
    "export": ("exporting", "export"),
    "open": ("opening", "open_file"),
    **dict.fromkeys(LISTS, ("listing", "show")),
}


def main(words: list[str]) -> int:
    top = top_parser()
    add_commands(top)
    options = top.parse_args(words)
    return reported(lambda: dispatch(options))


def reported(command: Callable[[], int]) -> int:
    """Run a command; its exit code. A problem the user can solve is one line on stderr and 1, Ctrl-C is 130."""
    try:
        return command()
    except supervisor.DataDirectoryInUse as problem:
        print(f"ksched: {problem}; stop it with `./ksched down`, or choose another --data-dir", file=sys.stderr)
    except PROBLEMS as problem:
        print(f"ksched: {problem}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def top_parser() -> argparse.ArgumentParser:
    """The command line without commands."""
    return argparse.ArgumentParser(prog="ksched", description="A kube-scheduler that keeps every decision.")


def add_commands(top: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    """Add the service's commands with their options; the returned action takes further ones."""
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    def data_dir(target: argparse.ArgumentParser) -> None:
        default = os.environ.get("KSCHED_DATA_DIR") or environment.ROOT / ".ksched"
        target.add_argument("--data-dir", type=Path, default=Path(default), help="where the service keeps everything")

    start = command("up", "Start the service and keep it running until Ctrl-C.")
    data_dir(start)
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

    data_dir(command("down", "Stop the service."))
    data_dir(command("status", "Show the processes of the service and its address."))

    load = command("import", "Load cluster state from files into the running service.")
    data_dir(load)
    load.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="output of kubectl (JSON or YAML), CSV of a trace, an archive of such files (tar), all also gzipped;"
        " a folder with what is below it; - for standard input; or a history (export)",
    )
    load.add_argument("--cluster", help="name of the cluster, created if absent (default: from the first file's name)")
    load.add_argument("--replace", action="store_true", help="also delete objects that the files do not have")
    load.add_argument(
        "--partial",
        action="store_true",
        help="import what can be read and taken, and name each part that cannot (default: all or nothing)",
    )
    load.add_argument(
        "--admission",
        choices=["auto", "always", "never"],
        default="auto",
        help="apply defaulting and admission; auto: to objects without uid and creationTimestamp (default: auto)",
    )
    load.add_argument("--lifecycle", choices=["frozen", "simulate"], help=LIFECYCLE)
    load.add_argument("--seed", type=int, help="seed of a new cluster's draws")
    load.add_argument("--wait", action="store_true", help="wait until every pod has been attempted")
    load.add_argument(
        "--digest", action="store_true", help="with --wait: print a digest over the first attempts of all pods"
    )
    load.add_argument("--json", action="store_true", help="print one JSON document, also when the import is refused")

    config = command("config", "Set or show the scheduler configuration of a cluster of the running service.")
    data_dir(config)
    config.add_argument("file", nargs="?", type=Path, metavar="FILE", help="KubeSchedulerConfiguration, YAML or JSON")
    config.add_argument("--cluster", required=True, help="name of the cluster")
    config.add_argument("--defaults", action="store_true", help="go back to the default configuration")
    config.add_argument("--show", action="store_true", help="print the active configuration, and nothing else")

    why = command("why", "Say what kept a pod from all nodes in its last attempt, or why it has its node.")
    data_dir(why)
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

    fit = command(
        "fits", "Say what would make a pod fit: changes that were tried. 0: it fits as it is; 1: not; 2: error."
    )
    data_dir(fit)
    fit.add_argument("pod", nargs="?", metavar="[NAMESPACE/]POD", help="the pod; without a namespace, of default")
    fit.add_argument(
        "-f",
        dest="file",
        type=Path,
        metavar="FILE",
        help="the manifest of a pod that is not there; - for standard input",
    )
    fit.add_argument(
        "--cost", action="append", metavar="KIND=POINTS", help="points of a change, as evict=10; repeatable"
    )
    fit.add_argument("--limit", type=int, default=10, help="suggestions at most (default: 10)")
    fit.add_argument("--cluster", help="name of the cluster (default: the only one there is)")
    fit.add_argument("--json", action="store_true", help="print one JSON document")

    prune = command("prune", "Delete history of clusters, by their retention settings or by those given here.")
    data_dir(prune)
    prune.add_argument("--cluster", help="name of the cluster (default: all)")
    prune.add_argument(
        "--hours", type=float, help="keep the history of this many hours (at least ten minutes are kept)"
    )
    prune.add_argument("--mb", type=float, help="keep at most this many megabytes of history")
    prune.add_argument("--json", action="store_true", help="print one JSON document")

    find = command("find", "Find pods (also those that are gone), nodes, workloads, reasons and more by name.")
    data_dir(find)
    find.add_argument("word", metavar="WORD", help="part of a name, or parts of its words: opod12 is openb-pod-0012")
    find.add_argument("--cluster", metavar="NAME", help="only in this cluster (default: in all)")
    find.add_argument("--kind", action="append", metavar="KIND,...", help=f"only these: {', '.join(FOUND_KINDS)}")
    find.add_argument("--limit", type=int, default=8, help="of what is found of each kind, at most 50 (default: 8)")
    find.add_argument("--json", action="store_true", help="print one JSON document")

    then = command("at", "Show a cluster of the running service as it was at a position of its logs, or a time.")
    data_dir(then)
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

    cache = command("cache", "Show the scheduler's cache: pods assumed and confirmed, nodes and the last snapshot.")
    data_dir(cache)
    cache.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    cache.add_argument("query", nargs="*", metavar="TEXT", help="only pods and nodes whose names have this part")
    cache.add_argument("--limit", type=int, default=50, help="of pods and nodes at most so many (default: 50)")
    cache.add_argument("--json", action="store_true", help="print one JSON document, with all nodes")

    again = command("replay", "Make recorded steps of a cluster again, and compare them with their record.")
    data_dir(again)
    again.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    again.add_argument(
        "--from",
        dest="first",
        metavar="RV.SEQ",
        help="after this position of both logs (default: from where history begins)",
    )
    again.add_argument("--to", dest="last", metavar="RV.SEQ", help="up to this one (default: all)")
    again.add_argument("--json", action="store_true", help="print one JSON document")

    history = command("export", "Write history of a cluster of the running service into a file, for import elsewhere.")
    data_dir(history)
    history.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    history.add_argument("--out", required=True, type=Path, metavar="FILE", help="the file to write")
    history.add_argument("--at", metavar="WHEN", help="only this moment: RV.SEQ, a time, or how long ago (10m ago)")
    history.add_argument("--from", dest="first", metavar="WHEN", help="from then on (default: where history begins)")
    history.add_argument("--to", dest="last", metavar="WHEN", help="up to then (default: now)")
    history.add_argument("--anonymise", action="store_true", help="replace names, each always by the same")

    held = command("open", "Replay, show and explain a history from a file, without a service.")
    data_dir(held)
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

    kube = command("kubeconfig", "Print a kubeconfig for a cluster of the running service, with a token of its own.")
    data_dir(kube)
    kube.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    roles = "what the token may do (default: admin, with --at viewer)"
    kube.add_argument("--role", choices=["viewer", "operator", "admin"], help=roles)
    kube.add_argument(
        "--at",
        metavar="WHEN",
        help='lead to the cluster as it was: RV.SEQ, a time of its clock ("2026-11-25 22:55", UTC), or "10m ago"',
    )
    kube.add_argument("--node", metavar="NODE", default="", help="the token is that of this node's kubelet")
    kube.add_argument("--out", type=Path, metavar="FILE", help="write to this file, readable by you only")
    kube.add_argument("--server", metavar="URL", help="how the service is reached (default: as it listens)")
    kube.add_argument("--revoke", metavar="TOKEN", help="end this token instead")

    tokens = command("token", "Make a token for the REST API of the running service, list tokens, end one.")
    data_dir(tokens)
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

    for one in LISTS.values():
        shown = commands.add_parser(
            one.name,
            help=f"List {one.name} of a cluster of the running service.",
            description=f"{one.text} The query:\n\n{help_text(one)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        data_dir(shown)
        names = ", ".join(column.name for column in one.columns)
        shown.add_argument("query", nargs="*", metavar="QUERY", help="which, in one word or several (default: all)")
        shown.add_argument("--cluster", help="name of the cluster (default: the only one)")
        shown.add_argument("--sort", default=one.sort, help=f"a column; --sort=-COLUMN downwards (default: {one.sort})")
        shown.add_argument("--columns", metavar="NAME,...", help=f"of {names}")
        shown.add_argument("--limit", type=int, default=50, help="rows at most, 0 for all (default: 50)")
        form = shown.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print all rows as one JSON document")
        form.add_argument("--csv", action="store_true", help="print all rows as CSV")

    cluster = command("cluster", "Make a cluster in the running service.")
    data_dir(cluster)
    cluster.add_argument("action", choices=["create"], metavar="create", help="what to do")
    cluster.add_argument("name", metavar="NAME", help="name of the new cluster")
    cluster.add_argument("--lifecycle", choices=["frozen", "simulate"], help=LIFECYCLE)
    cluster.add_argument(
        "--external", metavar="GROUP,...", help="controllers whose work is done from outside, such as kubelet,garbage"
    )
    cluster.add_argument("--nodes", type=int, default=0, help="put so many ready nodes into it (default: 0)")
    cluster.add_argument(
        "--shape",
        metavar="NAME=AMOUNT,...",
        help="what each node has (default: cpu=16,memory=64Gi,ephemeral-storage=200Gi,pods=110)",
    )

    follow = command("mirror", "Follow a cluster elsewhere, read-only, and compare its scheduler's decisions.")
    data_dir(follow)
    follow.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        default=Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config"),
        help="how to reach it (default: $KUBECONFIG or ~/.kube/config)",
    )
    follow.add_argument("--context", help="context of the kubeconfig (default: the current one)")
    follow.add_argument("--cluster", metavar="NAME", help="name of the new cluster (default: the context's)")
    follow.add_argument("--namespaces", action="append", metavar="NAME,...", help="only these (default: all)")
    follow.add_argument(
        "--scheduler-config", type=Path, metavar="FILE", help="the KubeSchedulerConfiguration its scheduler runs"
    )

    copy = command("fork", "Copy a cluster of the running service as it is now.")
    data_dir(copy)
    copy.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    copy.add_argument("name", metavar="NAME", help="name of the copy")
    copy.add_argument("--lifecycle", choices=["frozen", "simulate"], help=LIFECYCLE)
    return commands


def dispatch(options: argparse.Namespace) -> int:
    data = options.data_dir.resolve()
    if options.command == "up":
        return up.up(data_dir=data, host=options.host, port=options.port, sample=not options.no_sample, tls=options.tls)
    if options.command == "down":
        return up.down(data_dir=data)
    if options.command == "status":
        return up.status(data_dir=data)
    module, name = _COMMANDS[options.command]
    run: Callable[..., int] = getattr(importlib.import_module(f"kschedweb.ops.{module}"), name)
    return run(data_dir=data, options=options)


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 1 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
