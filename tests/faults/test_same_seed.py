"""Live workers decide alike when the seed is the same: a digest over each pod's first attempt tells."""

import pytest

from tests.faults import workloads
from tests.faults.service import Service
from tests.faults.workloads import Workload


def test_first_attempts_are_equal_when_the_seed_is(service: Service) -> None:
    workload = workloads.mixed(nodes=120, pods=500, seed=4)  # more nodes than are looked at for one pod
    seven, again, eight = (run(service, workload, f"seed-{seed}-{i}", seed) for i, seed in enumerate((7, 7, 8)))
    assert seven["attempts"] == again["attempts"] == eight["attempts"] == 500
    assert seven["digest"] == again["digest"] != eight["digest"]


@pytest.mark.slow
def test_first_attempts_of_the_recorded_cluster_are_equal_when_the_seed_is(service: Service) -> None:
    workload = workloads.openb()
    first, second = (run(service, workload, f"openb-twin-{i}", 7) for i in range(2))
    assert first["attempts"] == second["attempts"] == len(workload.pods)
    assert first["digest"] == second["digest"]


def run(service: Service, workload: Workload, name: str, seed: int) -> dict[str, object]:
    cluster_id = service.cluster_create(name, seed=seed)
    service.upload(cluster_id, workload.files)
    service.wait_settled(cluster_id)
    return service.digest(cluster_id)
