"""`./ksched config`: shows a cluster's scheduler configuration, or gives it another one, over the REST API."""

import argparse
import sys
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, connect


def configure(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Upload the file or the defaults, then tell what is in force; only print the text with `--show`."""
    if sum((options.file is not None, options.defaults, options.show)) > 1:
        print("ksched: give a FILE, --defaults or --show, not several of them", file=sys.stderr)
        return 2
    try:
        content = options.file.read_bytes() if options.file is not None else b""
    except OSError as error:
        print(f"ksched: cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    try:
        client = connect(data_dir)
        path = f"/api/clusters/{_cluster_id(client, options.cluster)}/scheduler-config"
        if options.file is not None or options.defaults:
            _, config = client.call("PUT", path, content, "application/yaml")
        else:
            _, config = client.call("GET", path)
    except Refused as refusal:
        for problem in refusal.problems or [str(refusal)]:
            print(f"ksched: {problem}", file=sys.stderr)
        return 1
    if options.show:
        sys.stdout.write(config["text"] or "# the defaults\n")
    else:
        print(told(config))
    return 0


def told(config: dict[str, Any]) -> str:
    """A configuration in words: its version, and for each profile the plugins that run at each point."""
    lines = [f"version {config['version']}, by {config['actor']} at {config['at']}"]
    if not config["text"]:
        lines[0] += " (the defaults)"
    lines += [f"cannot be used any more: {problem}" for problem in config["problems"]]
    for profile in (config["effective"] or {"profiles": ()})["profiles"]:
        lines.append(f"profile {profile['scheduler_name']}")
        if profile["not_deterministic"]:
            lines.append(f"  not replayable because of {', '.join(profile['not_deterministic'])}")
        if profile["ends_reuse"]:
            lines.append(f"  no reuse between equivalent pods because of {', '.join(profile['ends_reuse'])}")
        if profile["left_out"]:
            lines.append(f"  left out: {', '.join(profile['left_out'])}")
        for point in profile["points"]:
            if point["plugins"]:
                lines.append(f"  {point['point']:<11} {', '.join(map(_named, point['plugins']))}")
    return "\n".join(lines)


def _named(plugin: dict[str, Any]) -> str:
    return plugin["name"] if plugin["weight"] is None else f"{plugin['name']}*{plugin['weight']}"


def _cluster_id(client: Client, name: str) -> int:
    for cluster in client.all("/api/clusters"):
        if cluster["name"] == name:
            return int(cluster["id"])
    raise Refused(f"there is no cluster named {name}")
