"""An upload by REST and a POST to the Kubernetes API store the same object, for every kind that can be uploaded.

Both go to a cluster whose controllers are simulated: in a frozen cluster the Kubernetes API answers as a real API
server, whose new nodes are not ready until a kubelet says so, while an upload brings nodes that pods can be put on.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from scheduler_core.api.custom import DEFINITION
from scheduler_core.apiserver.kinds import KINDS
from tests.core.apiserver.samples import OBJECTS, Manifest, path_of
from tests.web.kubeapi.conftest import Served

pytestmark = pytest.mark.django_db

DRAWN = re.compile(r'"10\.96\.\d+\.\d+"|(?<="nodePort": )\d+')  # for each service
# Made anew for each object.
OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


@pytest.fixture(scope="module")
def clusters(served: Served) -> dict[str, int]:
    """Two clusters, by name with their ids: one for uploads, one for the Kubernetes API."""
    found = {}
    for name in ("uploaded", "posted"):
        made = rest(served, "/api/clusters", {"name": name, "lifecycle_mode": "simulate"})
        assert made.status == 201, made.body
        found[name] = json.loads(made.body)["id"]
    return found


def rest(served: Served, path: str, body: Manifest) -> Any:
    headers = {"Authorization": f"Bearer {served.admin}", "Content-Type": "application/json"}
    return served.web.ask("POST", path, json.dumps(body).encode(), **headers)


def stored(served: Served, cluster: str, kind: str) -> Manifest:
    headers = {"Authorization": f"Bearer {served.admin}"}
    answer = served.web.ask("GET", f"/k8s/{cluster}{path_of(kind, 'same')}", b"", **headers)
    assert answer.status == 200, answer.body
    manifest: Manifest = json.loads(answer.body)
    text = json.dumps(manifest).replace(manifest["metadata"]["uid"], "<uid>")
    text = text.replace(manifest["metadata"]["creationTimestamp"], "<created>")
    manifest = json.loads(DRAWN.sub('"<drawn>"', text))
    manifest["metadata"] = {key: value for key, value in manifest["metadata"].items() if key not in OWN}
    return manifest


# A definition is served once the API server has said so; one of an upload says of itself what it is.
KINDS_OF_BOTH = [
    name for name, kind in KINDS.items() if kind.is_served and not kind.is_confidential and name != DEFINITION
]


@pytest.mark.parametrize("kind", KINDS_OF_BOTH)
def test_upload_and_post_store_the_same(served: Served, clusters: dict[str, int], kind: str) -> None:
    manifest = {"apiVersion": KINDS[kind].cls.api_version, "kind": kind, "metadata": {"name": "same"}, **OBJECTS[kind]}
    uploaded = rest(served, f"/api/clusters/{clusters['uploaded']}/import", manifest)
    assert uploaded.status in (200, 201), uploaded.body
    posted = rest(served, f"/k8s/posted{path_of(kind)}", manifest)
    assert posted.status == 201, posted.body
    assert stored(served, "uploaded", kind) == stored(served, "posted", kind)
