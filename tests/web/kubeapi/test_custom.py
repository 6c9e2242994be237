"""Kinds that a cluster defines over a connection: found as clients find kinds, and shown as they were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.core.apiserver.custom_samples import DENS, RIVERS, den, river
from tests.core.apiserver.customs import DEFINITIONS, DEN_PATH, RIVER_PATH
from tests.waiting import HANG_SECONDS
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.test_past import position
from tests.web.kubeapi.test_watch import told, watch

pytestmark = pytest.mark.django_db

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUP, VERSION = "/apis/otters.example", "/apis/otters.example/v1"


def send(served: Served, path: str, body: Mapping[str, Any]) -> None:
    answer = served.send("POST", path, body)
    assert answer.status == 201, answer.body


def groups(served: Served, prefix: str = "") -> list[bool]:
    """Whether the group is in each of the lists of groups."""
    named = [each["name"] for each in served.get(f"{prefix}/apis")["groups"]]
    aggregated = served.get(f"{prefix}/apis", Accept=AGGREGATED)
    assert aggregated["kind"] == "APIGroupDiscoveryList"
    also = [each["metadata"]["name"] for each in aggregated["items"]]
    paths = served.get(f"{prefix}/openapi/v3")["paths"]
    return ["otters.example" in named, "otters.example" in also, "apis/otters.example/v1" in paths]


def test_kinds_are_found_while_they_are_defined_and_shown_as_they_were(served: Served) -> None:
    assert groups(served) == [False] * 3 and served.ask("GET", VERSION).status == 404
    for path, body in ((DEFINITIONS, DENS), (DEFINITIONS, RIVERS), (DEN_PATH, den()), (RIVER_PATH, river())):
        send(served, path, body)
    assert groups(served) == [True] * 3
    assert served.get(GROUP)["preferredVersion"] == {"groupVersion": "otters.example/v1", "version": "v1"}
    resources = {each["name"]: each for each in served.get(VERSION)["resources"]}
    assert list(resources) == ["dens", "dens/status", "dens/scale", "rivers"]
    assert resources["dens"]["shortNames"] == ["dn"] and resources["dens"]["categories"] == ["all", "otters"]
    assert resources["dens/scale"]["kind"] == "Scale" and not resources["rivers"]["namespaced"]
    document = served.get(f"/openapi/v3{VERSION}")
    assert document["components"]["schemas"]["example.otters.v1.Den"]["x-kubernetes-group-version-kind"] == [
        {"group": "otters.example", "kind": "Den", "version": "v1"}
    ]
    at = position(served)
    for name in ("dens", "rivers"):
        assert served.ask("DELETE", f"{DEFINITIONS}/{name}.otters.example").status == 200
    assert groups(served) == [False] * 3
    assert served.ask("GET", DEN_PATH).status == 404 and served.ask("GET", GROUP).status == 404

    then = f"/at/{at}"
    assert groups(served, then) == [True] * 3
    (shown,) = served.get(f"{then}{DEN_PATH}")["items"]
    assert shown["spec"] == {"depth": 2, "mood": "glad"}
    table = served.get(f"{then}{DEN_PATH}", Accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Depth", "Mood", "Ready", "Age"]
    assert served.get(f"{then}{RIVER_PATH}/long")["metadata"]["name"] == "long"
    assert served.get(f"{then}{DEN_PATH}/deep/scale")["kind"] == "Scale"


def test_watches_end_where_the_kind_is_defined_otherwise(served: Served) -> None:
    send(served, DEFINITIONS, DENS)
    version = served.get(DEN_PATH)["metadata"]["resourceVersion"]
    query = f"watch=1&timeoutSeconds={HANG_SECONDS:.0f}&resourceVersion={version}"
    name, merge = f"{DEFINITIONS}/dens.otters.example", "application/merge-patch+json"
    with watch(served, f"{DEN_PATH}?{query}") as response:
        send(served, DEN_PATH, den("a"))
        assert told(response, 1) == [("ADDED", "a")]
        labels = {"metadata": {"labels": {"a": "b"}}}  # what it defines stays as it was
        assert served.send("PATCH", name, labels, form=merge).status == 200
        send(served, DEN_PATH, den("b"))
        assert told(response, 1) == [("ADDED", "b")]
        changed = {"spec": {"names": {**DENS["spec"]["names"], "shortNames": ["lodge"]}}}
        assert served.send("PATCH", name, changed, form=merge).status == 200
        send(served, DEN_PATH, den("c"))
        assert response.read() == b""
    with watch(served, f"{DEN_PATH}?{query}") as response:  # who asks again from before the change has to list anew
        assert told(response, 2) == [("ADDED", "a"), ("ADDED", "b")]
        error = json.loads(response.readline())
        assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert response.read() == b""
    version = served.get(DEN_PATH)["metadata"]["resourceVersion"]
    with watch(served, f"{DEN_PATH}?watch=1&resourceVersion={version}") as response:
        assert served.ask("DELETE", name).status == 200
        assert told(response, 3) == [("DELETED", "a"), ("DELETED", "b"), ("DELETED", "c")]
        assert response.read() == b""
