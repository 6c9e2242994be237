"""A cluster without objects."""

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster


@pytest.fixture
def cluster(db: None) -> Cluster:
    return services.cluster_create(name="c")
