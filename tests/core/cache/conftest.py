import pytest

from scheduler_core.cache.cache import Cache
from tests.core.cache.cached import Log


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def cache(log: Log) -> Cache:
    return Cache(log=log)
