"""A server over the store in memory; the suite of rules has fixtures of its own."""

import itertools
import uuid

import pytest

from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.server import ApiServer


@pytest.fixture
def server() -> ApiServer:
    numbers = itertools.count(1)
    return ApiServer(MemoryStore(), lambda: str(uuid.UUID(int=next(numbers) << 64)))
