"""Folders of files as people have them (`reports`): each, sent as the command sends it, gives what expected.json says.

`taken` counts objects by kind. `left_out` has a reason by version and kind, `refused` the beginnings of messages in
their order, of which the upload without `partial` names those that can be seen in the text alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.cluster.models import Cluster
from kschedweb.ops import given
from tests.web.rest import log, logged_in

REPORTS = Path(__file__).parent / "reports"

pytestmark = pytest.mark.django_db


def answer(cluster: Cluster, folder: Path, query: str = "") -> tuple[int, Any]:
    """The answer of REST to a folder, and how many of its files are not sent."""
    found = given.read([folder / "input"])
    form = {"file": [SimpleUploadedFile(name, content) for name, content in found.uploads]}
    return found.passed_over, logged_in().post(f"/api/clusters/{cluster.pk}/import{query}", form, format="multipart")


@pytest.mark.parametrize("name", sorted(path.name for path in REPORTS.iterdir()))
def test_folder_gives_what_is_expected(cluster: Cluster, name: str) -> None:
    want = json.loads((REPORTS / name / "expected.json").read_text())
    _, strict = answer(cluster, REPORTS / name)
    assert (strict.status_code == 201) == (want["refused"] == []), strict.content
    if want["refused"]:
        assert log(cluster) == []
    passed_over, partial = answer(cluster, REPORTS / name, "?partial=true&replace=true")
    assert partial.status_code == 201, partial.content
    report = partial.json()["report"]
    counts = {kind: sum(of.values()) - of.get("refused", 0) for kind, of in report["kinds"].items()}
    assert {kind: count for kind, count in counts.items() if count} == want["taken"]
    left_out = {f"{one['api_version']} {one['kind']}": one["read_as"] or one["reason"] for one in report["left_out"]}
    assert left_out == want["left_out"]
    assert report["passed_over"].get("files", 0) + passed_over == want["passed_over"].get("files", 0)
    assert report["passed_over"].get("logs", 0) == want["passed_over"].get("logs", 0)
    assert len(report["refused"]) == len(want["refused"]), report["refused"]
    for one, message in zip(report["refused"], want["refused"], strict=True):
        assert message in one["message"]
