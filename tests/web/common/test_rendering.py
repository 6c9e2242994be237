"""What is kept of an answer until its reader has it."""

import pytest

from kschedweb.cluster import services
from tests.web.rest import logged_in


@pytest.mark.django_db
def test_answer_keeps_its_bytes_and_not_what_they_were_made_from() -> None:
    services.cluster_create(name="c")
    answer = logged_in().get("/api/clusters")
    assert answer.json()["results"][0]["name"] == "c"
    assert answer.data is None
