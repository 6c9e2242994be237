import pytest

from tests.core.controllers.simulation import Simulation


@pytest.fixture
def cluster() -> Simulation:
    return Simulation()
