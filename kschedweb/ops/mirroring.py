"""`./ksched mirror`: follows a cluster elsewhere in the running service; `./ksched fork` copies a cluster.

The kubeconfig is sent with the files it names in it, as `kubectl config view --flatten` writes it. Programs that make
tokens run beside the service, as the user it runs as.
"""

import argparse
import base64
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from kschedweb.ops import beside, up
from kschedweb.ops.client import Refused, cluster_id, connect
from kschedweb.ops.given import default_name

FILES = ("certificate-authority", "client-certificate", "client-key")


def mirror(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Start following, and say what was started."""
    facts = up.read_status(data_dir)
    if facts is None or "url" not in facts:
        return _fail(f"nothing runs on {data_dir}: start it with ./ksched up")
    try:
        document = yaml.safe_load(options.kubeconfig.read_text())
        if not isinstance(document, dict):
            raise ValueError("expected an object")
        content = yaml.safe_dump(flattened(document, options.kubeconfig.resolve().parent))
        config = options.scheduler_config.read_text() if options.scheduler_config is not None else ""
    except OSError as error:
        return _fail(f"cannot read {error.filename}: {error.strerror}")
    except (ValueError, yaml.YAMLError) as error:
        return _fail(f"{options.kubeconfig}: {error}")
    wanted = {
        "name": options.cluster or default_name(Path(str(options.context or document.get("current-context") or "x"))),
        "kubeconfig": content,
        "context": options.context or "",
        "namespaces": [name for each in options.namespaces or () for name in each.split(",") if name],
        "scheduler_config": config,
    }
    try:
        made = beside.ask(data_dir, "kschedweb.ops.mirror_starting", given=json.dumps(wanted))
    except beside.Failed as problem:
        return _fail(str(problem))
    print(f"cluster {made['name']} (id {made['id']}) follows {made['server']}, read-only")
    print(f"see it: {facts['url']}/#/clusters/{made['id']}")
    print(f"copy it to change things: ./ksched fork {made['name']} NAME")
    return 0


def fork(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Copy a cluster as it is now."""
    try:
        client = connect(data_dir)
        cluster = cluster_id(client, options.cluster)
        wanted = {"cluster_id": cluster, "name": options.name, "lifecycle_mode": options.lifecycle or "frozen"}
        made = client.post("/api/forks", wanted)
    except Refused as refusal:
        return _fail(str(refusal))
    print(f"cluster {made['name']} (id {made['id']}) is a copy of {options.cluster}")
    return 0


def flattened(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The kubeconfig with the certificates and keys it names in it; files of tokens, which change, by their paths."""
    for section, part in (("clusters", "cluster"), ("users", "user")):
        for entry in document.get(section) or ():
            values = entry.get(part) if isinstance(entry, dict) else None
            if not isinstance(values, dict):
                continue
            for field in FILES:
                if values.get(field) and not values.get(f"{field}-data"):
                    content = (folder / values.pop(field)).read_bytes()
                    values[f"{field}-data"] = base64.b64encode(content).decode()
                values.pop(field, None)
            if values.get("tokenFile"):
                values["tokenFile"] = str(folder / values["tokenFile"])
    return document


def _fail(text: str) -> int:
    print(f"ksched: {text}", file=sys.stderr)
    return 1
