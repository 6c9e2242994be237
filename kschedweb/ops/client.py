"""`./ksched import`: hands files to the running service over its REST API, as the browser does.

The token is the one that `./ksched up` wrote into its data directory. All files go in one request, hence one
transaction. A large upload is answered with an import to follow; `--wait` then also waits for the scheduler. People get
tables, programs with `--json` one document: `cluster`, `report`, …, or `error` when it is refused.
"""

import argparse
import http.client
import json
import secrets
import sys
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from kschedweb.cluster.intake import archives
from kschedweb.ops import given, up
from kschedweb.ops.setup import CREDENTIAL_FILE
from kschedweb.ops.telling import FROZEN, counts, details, import_report, no_cluster

POLL_SECONDS = 0.5
DOWNLOAD_BYTES = 1 << 20
TIMEOUT_SECONDS = 300.0
STALLED_SECONDS = 60.0
# Where a pod stands once it was tried, or is not to be tried.
TRIED = ("unschedulable", "backoff", "errorBackoff", "gated")


class Refused(Exception):
    """The service answered with an error, or does not answer; the text tells people all of it, `answer` programs."""

    def __init__(self, message: str, answer: Mapping[str, Any] | None = None) -> None:
        self.answer = answer or {"code": "refused", "message": message, "extra": {}}
        super().__init__("\n".join([message, *details(message, self.answer.get("extra") or {})]))


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks JSON with the service of one data directory."""

    host: str
    port: int
    token: str
    certificate: str = ""

    def call(
        self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Status and parsed answer; Refused when the service says no."""
        status, text = self._asked(method, path, body, content_type)
        return status, _parsed(text)

    def text(self, path: str) -> str:
        """What the service sends as a download; Refused when it says no."""
        return self._asked("GET", path, None, "")[1]

    def download(self, path: str, file: BinaryIO) -> int:
        """Write a download into a file; how many bytes it has. Refused when the service says no, or stops before its
        end.
        """
        connection = up.connection_to(self.host, self.port, self.certificate, TIMEOUT_SECONDS)
        headers = {"Accept": "application/octet-stream, application/json", "Authorization": f"Bearer {self.token}"}
        size = 0
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise _refused(response.status, _parsed(response.read().decode(errors="replace")))
            while piece := response.read(DOWNLOAD_BYTES):
                size += file.write(piece)
        except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
            raise Refused(f"the service at {self.host}:{self.port} stopped before the end ({error!r})") from None
        finally:
            connection.close()
        return size

    def _asked(self, method: str, path: str, body: bytes | None, content_type: str) -> tuple[int, str]:
        connection = up.connection_to(self.host, self.port, self.certificate, TIMEOUT_SECONDS)
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
        except OSError as error:
            raise Refused(f"the service at {self.host}:{self.port} does not answer ({error})") from None
        finally:
            connection.close()
        if response.status >= 400:
            raise _refused(response.status, _parsed(text))
        return response.status, text

    def post(self, path: str, values: Mapping[str, Any]) -> Any:
        return self.call("POST", path, json.dumps(values).encode())[1]

    def all(self, path: str) -> list[dict[str, Any]]:
        """All of a list, following its pages."""
        found: list[dict[str, Any]] = []
        next_path: str | None = path
        while next_path:
            _, answer = self.call("GET", next_path)
            if isinstance(answer, list):
                return answer
            found += answer["results"]
            link = urllib.parse.urlsplit(answer["next"]) if answer.get("next") else None
            next_path = f"{link.path}?{link.query}" if link else None
        return found


def import_files(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Import the named files into one cluster and print the report."""
    if options.digest and not options.wait:
        print("ksched: --digest is over what the scheduler did: it needs --wait", file=sys.stderr)
        return 2
    try:
        found = given.read(options.files)
    except OSError as error:
        print(f"ksched: cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except given.NotGivenError as error:
        print(f"ksched: {error}", file=sys.stderr)
        return 1
    tell = _untold if options.json else print
    try:
        done = _import(data_dir, found, options, tell)
    except Refused as problem:
        if options.json:
            print(json.dumps({"error": problem.answer}, ensure_ascii=False))
        else:
            print(f"ksched: {problem}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(done, ensure_ascii=False))
    return 0 if done.get("settled", True) else 1


def _import(
    data_dir: Path, found: given.Given, options: argparse.Namespace, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Import, wait if that is wanted, and tell of each step; what `--json` prints."""
    started_at = time.monotonic()
    client = connect(data_dir)
    cluster = cluster_named(client, options)
    report = send(client, cluster["id"], found.uploads, options)
    if found.passed_over:
        passed_over = report.setdefault("passed_over", {})
        passed_over[archives.FILES] = passed_over.get(archives.FILES, 0) + found.passed_over
    seconds = round(time.monotonic() - started_at, 1)
    done = {"cluster": {"id": cluster["id"], "name": cluster["name"]}, "report": report, "seconds": seconds}
    tell("\n".join([f"cluster {cluster['name']} (id {cluster['id']})", "", *import_report(report)]))
    is_history = any(file["format"] == "history" for file in report["files"])
    if (options.lifecycle or cluster["lifecycle_mode"]) == "frozen" and not is_history:
        tell(FROZEN)
    tell(f"imported in {seconds:.1f} s")
    if options.wait and not is_history:
        summary, settled = wait_until_tried(client, cluster["id"])
        seconds = round(time.monotonic() - started_at, 1)
        done |= {"summary": summary, "settled": settled, "settled_seconds": seconds}
        tell(f"{'settled' if settled else 'given up'} after {seconds:.1f} s")
        tell(told(summary, all_tried=settled))
        if options.digest:
            _, digest = client.call("GET", f"/api/clusters/{cluster['id']}/digest")
            done["digest"] = digest
            tell(f"{digest['attempts']} pods tried, {digest['scheduled']} given a node by their first attempt")
            tell(f"digest of first attempts: {digest['digest']}")
    return done


def _untold(text: str) -> None:
    """Programs get one document at the end."""


def connect(data_dir: Path) -> Client:
    """A client of the service that runs on a data directory."""
    facts = up.read_status(data_dir)
    credential = data_dir / CREDENTIAL_FILE
    if facts is None or "port" not in facts or not credential.exists():
        raise Refused(f"nothing runs on {data_dir}: start it with ./ksched up")
    known = json.loads(credential.read_text())
    if "token" not in known:
        raise Refused("the service was set up by an older version: start it again with ./ksched up")
    return Client(facts["host"], facts["port"], known["token"], facts.get("certificate", ""))


def cluster_named(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """The cluster to import into, made when there is none of that name."""
    name = options.cluster or given.default_name(options.files[0])
    for cluster in client.all("/api/clusters"):
        if cluster["name"] == name:
            return cluster
    wanted: dict[str, Any] = {"name": name}
    if options.seed is not None:
        wanted["seed"] = options.seed
    made: dict[str, Any] = client.post("/api/clusters", wanted)
    return made


def cluster_id(client: Client, name: str | None) -> int:
    """The id of the cluster of that name, or of the only one there is. Refused."""
    known = {cluster["name"]: cluster["id"] for cluster in client.all("/api/clusters")}
    if name is None and len(known) == 1:
        (name,) = known
    if name in known:
        return int(known[name])
    if name is None and known:
        raise Refused(f"name one with --cluster: {', '.join(sorted(known))}")
    raise Refused(no_cluster(name, known))


def send(
    client: Client, cluster_id: int, uploads: list[tuple[str, bytes]], options: argparse.Namespace
) -> dict[str, Any]:
    """Upload the files and follow the import to its end; its report."""
    query: dict[str, str] = {"admission": options.admission}
    if options.replace:
        query["replace"] = "true"
    if options.partial:
        query["partial"] = "true"
    if options.lifecycle:
        query["lifecycle"] = options.lifecycle
    body, content_type = multipart(uploads)
    path = f"/api/clusters/{cluster_id}/import?{urllib.parse.urlencode(query)}"
    _, answer = client.call("POST", path, body, content_type)
    while answer.get("status") in ("queued", "running"):
        time.sleep(POLL_SECONDS)
        _, answer = client.call("GET", f"/api/clusters/{cluster_id}/imports/{answer['id']}")
    if answer.get("status") == "failed":
        raise _refused(0, answer.get("error"))
    report: dict[str, Any] = answer.get("report") or answer
    return report


def wait_until_tried(client: Client, cluster_id: int) -> tuple[dict[str, Any], bool]:
    """The summary of a cluster once every pod is bound or waits with a reason; or once nothing has changed for long.

    Pods that no profile has wait for another scheduler, or another configuration.
    """
    last, changed_at = None, time.monotonic()
    while True:
        _, summary = client.call("GET", f"/api/clusters/{cluster_id}/summary")
        pending = summary["pending"]
        tried = sum(pending["queues"].get(queue, 0) for queue in TRIED)
        if pending["pods"] == tried + sum(pending["unqueued"]["no_profile"].values()):
            return summary, True
        if summary != last:
            last, changed_at = summary, time.monotonic()
        elif time.monotonic() - changed_at > STALLED_SECONDS:
            return summary, False
        time.sleep(POLL_SECONDS)


def told(summary: Mapping[str, Any], *, all_tried: bool) -> str:
    """A summary in words: what is pending and why."""
    pending = summary["pending"]
    lines = [f"{summary['objects'].get('Pod', 0)} pods, {pending['pods']} of them pending"]
    no_profile, unseen = pending["unqueued"]["no_profile"], pending["unqueued"]["unseen"]
    if not all_tried:
        others = {"without a profile": sum(no_profile.values()), "not seen yet": unseen}
        lines[0] += f" ({counts(pending['queues'] | others)})"
    has = ", ".join(pending["profiles"])
    lines += [
        f"  {pods:>6}  no profile is called {name}; the configuration has {has}" for name, pods in no_profile.items()
    ]
    lines += [f"  {reason['pods']:>6}  {reason['plugin']}: {reason['reason']}" for reason in pending["reasons"][:10]]
    if summary["overcommitted"]:
        lines.append(f"  nodes over their allocatable: {len(summary['overcommitted'])}")
    return "\n".join(lines)


def multipart(uploads: list[tuple[str, bytes]]) -> tuple[bytes, str]:
    """One form with every file under `file`, and its content type."""
    boundary = secrets.token_hex(16)
    parts = []
    for name, content in uploads:
        shown = name.replace("\\", "_").replace('"', "_")
        head = (
            f'Content-Disposition: form-data; name="file"; filename="{shown}"\r\nContent-Type: application/octet-stream'
        )
        parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return {"message": text[:500]}


def _refused(status: int, answer: Any) -> Refused:
    if isinstance(answer, dict):
        return Refused(str(answer.get("message") or answer.get("detail") or f"the service answered {status}"), answer)
    return Refused(f"the service answered {status}: {answer!r}")
