"""A server over the store in memory; the suite of rules has fixtures of its own."""

import itertools
import uuid

import pytest

from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW


@pytest.fixture
def server() -> ApiServer:
    numbers = itertools.count(1)
    return ApiServer(MemoryStore(), lambda: str(uuid.UUID(int=next(numbers) << 64)))


@pytest.fixture
def frozen() -> ApiServer:
    """The rules of a real API server: no object may leave anything open."""
    numbers = itertools.count(1)
    made = ApiServer(MemoryStore(), lambda: str(uuid.UUID(int=next(numbers) << 64)), is_simulated=False)
    made.carry_out(bootstrap_requests(NOW), NOW)
    return made
