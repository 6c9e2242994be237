import pytest

from tests.core.controllers.kubelet.nodes import Nodes


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()
