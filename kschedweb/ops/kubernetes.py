"""`./ksched kubeconfig` and `./ksched cluster create`: a cluster for kubectl, and the file with which it is reached."""

import argparse
import base64
import ipaddress
import sys
from pathlib import Path
from typing import Any

import yaml

from kschedweb.ops import beside, up
from kschedweb.ops.client import Client, Refused, connect
from kschedweb.ops.supervisor import write_private

ROLES = ("viewer", "operator", "admin")
SHAPE = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}
# Of simulated nodes: the first one has the address after that of the network.
NODE_ADDRESSES = ipaddress.IPv4Network("10.128.0.0/9")
HOW_TO_GET_TLS = (
    "start the service with ./ksched up --tls, or with a certificate of your own in KSCHED_TLS_CERT and KSCHED_TLS_KEY;"
    " if a proxy ends TLS, give its address with --server https://…"
)
NODE_INFO = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "kubeletVersion": "v1.34.1",
    "containerRuntimeVersion": "simulated://1",
    "osImage": "",
    "kernelVersion": "",
    "kubeProxyVersion": "",
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
}


def kubeconfig(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Write a kubeconfig with a token of its own, or end such a token."""
    facts = up.read_status(data_dir)
    if facts is None or "url" not in facts:
        return _fail(f"nothing runs on {data_dir}: start it with ./ksched up")
    server = options.server or facts["url"]
    if not options.revoke and not server.startswith("https://"):
        return _fail(f"kubectl sends tokens over https only, and this would lead to {server}: {HOW_TO_GET_TLS}")
    role = options.role or ("admin" if options.at is None else "viewer")
    words = (
        [options.cluster, "--revoke", options.revoke]
        if options.revoke
        else [options.cluster, "--role", role, "--node", options.node]
    )
    if options.at is not None:
        words += ["--at", options.at]
    try:
        granted = beside.ask(data_dir, "kschedweb.ops.granting", words)
    except beside.Failed as problem:
        return _fail(str(problem))
    if options.revoke:
        print(f"token {granted['name']} is no longer good")
        return 0
    text = yaml.safe_dump(config(options, facts, granted), sort_keys=False)
    end = f"./ksched kubeconfig {options.cluster} --revoke {granted['name']}"
    if options.out is None:
        sys.stdout.write(f"# token {granted['name']}; to end it: {end}\n{text}")
    else:
        write_private(options.out, text)
        then = f" as it was at {granted['position']} ({granted['time']})" if options.at is not None else ""
        print(f"{options.out}: {options.node or role} of {options.cluster}{then}")
        print(f"try: kubectl --kubeconfig {options.out} get nodes")
        print(f"to end the token: {end}")
    return 0


def config(options: argparse.Namespace, facts: dict[str, Any], granted: dict[str, str]) -> dict[str, Any]:
    """The file as kubectl reads it; of a moment, whose position is fixed, when one was asked for."""
    at = granted.get("position", "")
    path = f"/k8s/{options.cluster}" + (f"/at/{at}" if at else "")
    server: dict[str, str] = {"server": f"{options.server or facts['url']}{path}"}
    certificate = Path(facts.get("certificate") or "")
    if not options.server and facts.get("certificate") and certificate.is_file():
        server["certificate-authority-data"] = base64.b64encode(certificate.read_bytes()).decode()
    name = f"{options.cluster}@{at}" if at else options.cluster
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": granted["user"], "user": {"token": granted["token"]}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": granted["user"]}}],
        "current-context": name,
    }


def cluster_create(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Make a cluster, with ready nodes of one shape if asked for."""
    try:
        shape = SHAPE | dict(_amount(word) for word in (options.shape or "").split(",") if word)
    except ValueError as error:
        return _fail(str(error))
    try:
        client = connect(data_dir)
        external = [word for word in (options.external or "").split(",") if word]
        wanted = {
            "name": options.name,
            "lifecycle_mode": options.lifecycle or "frozen",
            "external_controllers": external,
        }
        made = client.post("/api/clusters", wanted)
        _put_nodes(client, made["id"], options.nodes, shape)
    except Refused as refusal:
        return _fail(str(refusal))
    print(f"cluster {made['name']} (id {made['id']}), {options.nodes} nodes")
    needed = "" if client.certificate else "; needs ./ksched up --tls"
    print(f"for kubectl: ./ksched kubeconfig {made['name']} --out FILE{needed}")
    return 0


def _put_nodes(client: Client, cluster_id: int, count: int, shape: dict[str, str]) -> None:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}},
            "status": {
                "capacity": shape,
                "allocatable": shape,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "addresses": [
                    {"type": "InternalIP", "address": str(NODE_ADDRESSES[number])},
                    {"type": "Hostname", "address": f"node-{number}"},
                ],
                "nodeInfo": NODE_INFO,
            },
        }
        for number in range(1, count + 1)
    ]
    for node in nodes:
        client.post(f"/api/clusters/{cluster_id}/objects", node)


def _amount(word: str) -> tuple[str, str]:
    name, _, amount = word.partition("=")
    if not name.strip() or not amount.strip():
        raise ValueError(f"--shape: expected name=amount, got {word!r}")
    return name.strip(), amount.strip()


def _fail(text: str) -> int:
    print(f"ksched: {text}", file=sys.stderr)
    return 1
