"""One service for all tests of this folder: every kill is also one more that the next test begins after."""

from collections.abc import Iterator

import pytest

from tests.faults.service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    made = Service()
    try:
        made.start()
        yield made
    finally:
        made.close()
