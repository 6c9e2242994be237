"""`./ksched token`: makes a token for programs, lists tokens, ends one.

`make` prints the token on stdout and all else on stderr, so that `TOKEN=$(./ksched token make)` has it. It works on the
database, as `./ksched kubeconfig` does: over REST no token makes another.
"""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kschedweb.ops import beside, up
from kschedweb.ops.telling import table


def token(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Do what the options say, and tell of it."""
    facts = up.read_status(data_dir)
    if facts is None and "DATABASE_URL" not in os.environ:
        return _fail(f"nothing runs on {data_dir}: start it with ./ksched up")
    if options.action == "revoke" and not options.name:
        return _fail("revoke needs --name: ./ksched token list has the names")
    words = [options.action, f"--name={options.name or ''}", f"--user={options.user}"]
    words += [f"--role={options.role}", f"--days={options.days}"]
    try:
        found = beside.ask(data_dir, "kschedweb.ops.issuing", words)
    except beside.Failed as problem:
        return _fail(str(problem))
    if options.action == "list" and not options.all:
        found["tokens"] = [each for each in found["tokens"] if not each["is_over"]]
    if options.json:
        print(json.dumps(found))
    elif options.action == "make":
        print(found["secret"])
        for line in made(found, facts or {}, whose=options.user):
            print(line, file=sys.stderr)
    elif options.action == "revoke":
        print(f"token {found['name']} of {found['user']} is no longer good")
    else:
        print("\n".join(listed(found)))
    return 0


def made(found: Mapping[str, Any], facts: Mapping[str, Any], *, whose: str) -> list[str]:
    """What a new token is, how it is tried, and how it is ended."""
    lines = [f"token {found['name']} of {found['user']}: at most {found['max_role']}, until {found['expires_at'][:10]}"]
    if "url" in facts:
        certificate = f"--cacert {shlex.quote(facts['certificate'])} " if facts.get("certificate") else ""
        lines.append(f'try: curl {certificate}-H "Authorization: Bearer $TOKEN" {facts["url"]}/api/clusters')
    user = f" --user {shlex.quote(whose)}" if whose else ""
    return [*lines, f"to end it: ./ksched token revoke --name {found['name']}{user}"]


def listed(found: Mapping[str, Any]) -> list[str]:
    """A line for each token, the newest first."""
    if not found["tokens"]:
        return [f"{found['user']} has no token"]
    head = ("NAME", "ROLE", "MADE", "LAST USED", "ENDS", "TOKEN")
    return table(head, [_row(each) for each in found["tokens"]], left=len(head))


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    ends = each["expires_at"][:10]
    if each["is_over"]:
        over = each["revoked_at"] or each["expires_at"]
        ends = f"{'revoked' if over < each['expires_at'] else 'expired'} {over[:10]}"
    used = (each["last_used_at"] or "never")[:16].replace("T", " ")
    known = f"…{each['last_characters']}" if each["last_characters"] else ""
    return each["name"], each["max_role"], each["created_at"][:10], used, ends, known


def _fail(text: str) -> int:
    print(f"ksched: {text}", file=sys.stderr)
    return 1
