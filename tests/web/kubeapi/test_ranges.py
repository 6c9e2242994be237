"""What a reader of the log takes at once is bounded in bytes, and what it takes knows its size."""

from __future__ import annotations

import os

import pytest

from kschedweb.cluster.models import Change
from kschedweb.cluster.versions import version_of
from kschedweb.kubeapi import watching
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.test_watch import commit

MAPS = "/api/v1/namespaces/default/configmaps"
LARGE = 20_000


@pytest.mark.django_db
def test_ranges_follow_each_other_and_none_is_larger_than_it_may_be(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BATCH_BYTES", 2 * LARGE)
    monkeypatch.setattr(watching, "FEW_ENTRIES", 0)
    assert served.ask("GET", MAPS).status == 200  # what every cluster has is made for the first request
    commit()
    names = [f"ranged-{number}" for number in range(5)]
    (before,) = Change.objects.filter(cluster_id=served.cluster_id).order_by("-rv").values_list("rv", flat=True)[:1]
    for place, name in enumerate(names):
        # What does not compress, and one object that is larger than a range may be.
        data = os.urandom(LARGE * (3 if place == 3 else 1) // 2).hex()
        assert served.send("POST", MAPS, {"metadata": {"name": name}, "data": {"large": data}}).status == 201
    commit()
    at, found = version_of(before), []
    while True:
        end, entries = watching.read_range(served.cluster_id, at)
        assert end is not None
        if end == at:
            break
        assert len(entries) == 1 or sum(entry.size for entry in entries) < 6 * LARGE
        found.append([entry.manifest["metadata"]["name"] for entry in entries])
        assert all(LARGE <= entry.size < 4 * LARGE for entry in entries)
        at = end
    assert [name for part in found for name in part] == names
    assert len(found) >= 3 and [names[3]] in found
