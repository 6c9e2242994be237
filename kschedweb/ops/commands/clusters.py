"""Clusters: made, filled, configured, mirrored, copied."""

import os
from pathlib import Path

from kschedweb.ops.commands.adding import LIFECYCLE, Commands


def add(commands: Commands) -> None:
    load = commands.add("import", "Load cluster state from files into the running service.", "client.import_files")
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

    every = commands.add("clusters", "List the clusters of the running service.", "clusters.clusters")
    every.add_argument("--json", action="store_true", help="print one JSON document")

    cluster = commands.add("cluster", "Make a cluster in the running service.", "kubernetes.cluster_create")
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

    config = commands.add(
        "config",
        "Set or show the scheduler configuration of a cluster of the running service.",
        "configuring.configure",
    )
    config.add_argument("file", nargs="?", type=Path, metavar="FILE", help="KubeSchedulerConfiguration, YAML or JSON")
    config.add_argument("--cluster", required=True, help="name of the cluster")
    config.add_argument("--defaults", action="store_true", help="go back to the default configuration")
    config.add_argument("--show", action="store_true", help="print the active configuration, and nothing else")

    follow = commands.add(
        "mirror", "Follow a cluster elsewhere, read-only, and compare its scheduler's decisions.", "mirroring.mirror"
    )
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

    copy = commands.add("fork", "Copy a cluster of the running service as it is now.", "mirroring.fork")
    copy.add_argument("cluster", metavar="CLUSTER", help="name of the cluster")
    copy.add_argument("name", metavar="NAME", help="name of the copy")
    copy.add_argument("--lifecycle", choices=["frozen", "simulate"], help=LIFECYCLE)
