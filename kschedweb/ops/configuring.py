"""`./ksched config`: shows a cluster's scheduler configuration, or gives it another one, over the REST API."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Refused, cluster_id, connect
from kschedweb.ops.telling import problem_table, table


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
        path = f"/api/clusters/{cluster_id(client, options.cluster)}/scheduler-config"
        if options.file is not None or options.defaults:
            _, config = client.call("PUT", path, content, "application/yaml")
        else:
            _, config = client.call("GET", path)
    except Refused as refusal:
        problems = (refusal.answer.get("extra") or {}).get("problems")
        print("\n".join(_refused(options.file, problems) if problems else [f"ksched: {refusal}"]), file=sys.stderr)
        return 1
    if options.show:
        sys.stdout.write(config["text"] or "# the defaults\n")
    else:
        print(told(config))
        if options.file is not None or options.defaults:
            print("\n".join(["", *_applied(config)]))
    return 0


def told(config: dict[str, Any]) -> str:
    """A configuration in words: its version, and for each profile the plugins that run at each point."""
    lines = [f"version {config['version']}, by {config['actor']} at {config['at']}"]
    if not config["text"]:
        lines[0] += " (the defaults)"
    if config["problems"]:
        lines += ["cannot be used any more:", *problem_table(config["problems"])]
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


def _refused(file: Path | None, problems: Sequence[Mapping[str, Any]]) -> list[str]:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return [f"ksched: {file or 'the defaults'}: refused, nothing was changed; {count}:", *problem_table(problems)]


def _applied(config: Mapping[str, Any]) -> list[str]:
    """What changed against the version before, and from when on it counts."""
    changes = config["changes"]
    if changes is None:
        lines = ["nothing to compare with: this is the first version, or the one before can no longer be read"]
    elif changes:
        rows = [(each["path"], each["kind"], each["before"] or "-", each["after"] or "-") for each in changes]
        lines = ["changed against the version before:", *table(("FIELD", "WHAT", "BEFORE", "NOW"), rows, left=4)]
    else:
        lines = ["no setting differs from the version before"]
    return [*lines, _since(config)]


def _since(config: Mapping[str, Any]) -> str:
    if config["is_in_use"]:
        return f"version {config['version']} is in use"
    return f"version {config['version']} counts from the scheduler's next step on; queued pods stay queued"


def _named(plugin: dict[str, Any]) -> str:
    return plugin["name"] if plugin["weight"] is None else f"{plugin['name']}*{plugin['weight']}"
