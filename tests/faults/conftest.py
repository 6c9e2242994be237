"""One service for all tests of this folder: every kill is also one more that the next test begins after."""

from collections.abc import Iterator

import pytest

from tests.faults import storm
from tests.faults.service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    made = Service()
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def stormy(service: Service) -> Iterator[Service]:
    """The service with two workers of the kinds that matter, and without clusters of other tests."""
    service.clusters_delete()
    for name in storm.JOINED:
        service.join(name)
    yield service
    service.leave()
    service.clusters_delete()
