import pytest

from tests.core.queue.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()
