"""A server over the store in memory; the suite of rules has fixtures of its own."""

import pytest

from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW, empty_server


@pytest.fixture
def server() -> ApiServer:
    return empty_server()


@pytest.fixture
def frozen() -> ApiServer:
    """The rules of a real API server: no object may leave anything open."""
    made = empty_server(is_simulated=False)
    made.carry_out(bootstrap_requests(NOW), NOW)
    return made
