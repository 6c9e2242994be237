"""Files of the large cluster: what is in them, and that an import takes them."""

import gzip
import json
from typing import Any

import pytest

from kschedweb.cluster.intake.limits import Limits
from tools.bench import large, objects


def test_files_hold_the_whole_cluster_with_nodes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "OBJECTS_PER_FILE", 200)
    monkeypatch.setattr(large, "UNPLACEABLE", 20)
    files = [json.loads(gzip.decompress(body))["items"] for body in large.files(30, 300)]
    assert [len(items) for items in files] == [175, 175]
    items = [item for items in files for item in items]
    assert [item["kind"] for item in items] == ["Node"] * 30 + ["Pod"] * 320
    assert [item["spec"]["nodeName"] for item in items[30:32]] == ["node-00000", "node-00001"]
    assert sum("nodeName" in item.get("spec", {}) for item in items) == 300


def test_a_file_stays_below_the_limits_of_an_import() -> None:
    limits, pod = Limits(), objects.running_pod(0, 1)
    assert limits.objects >= large.OBJECTS_PER_FILE
    assert large.OBJECTS_PER_FILE * _values(pod) <= limits.values
    assert large.OBJECTS_PER_FILE * len(json.dumps(pod)) <= limits.unpacked_bytes


def _values(value: Any) -> int:
    """How many values a parser would make."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(_values, value.values()))
    return 1 + sum(map(_values, value)) if isinstance(value, list) else 1
