"""One service for all storms, with somebody innocent whose cluster has nothing to do with them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import pytest

from tests.attack import people
from tests.attack.people import Person
from tests.attack.storm import Attacked, Storm
from tests.faults import workloads
from tests.faults.service import Service

INNOCENT, STORMERS = "ivy", ("eve", "mallory")
MANY = tuple(f"user{number}" for number in range(16))

Storming = Callable[[], AbstractContextManager[Storm]]


@dataclass(frozen=True)
class Cast:
    """Who takes part. The stormers are admins of `stormed`, a cluster of their own."""

    innocent: Person
    stormers: tuple[Person, ...]
    stormed: int
    innocent_cluster: int


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    made = Service()
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def attacked(service: Service, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Attacked:
    # A machine that runs the long form has nothing else to do.
    is_long = bool(request.config.getoption("--long"))
    return Attacked(service, is_long, tmp_path_factory.mktemp("observer") / "lines")


@pytest.fixture(scope="session")
def cast(attacked: Attacked) -> Iterator[Cast]:
    """Everybody, logged in; the innocent is observed from here on."""
    service = attacked.service
    people.users_create(service, [INNOCENT, *STORMERS, *MANY])
    clusters = {name: service.cluster_create(name) for name in ("innocent", "stormed")}
    service.upload(clusters["innocent"], workloads.roomy(nodes=5, pods=40).files)
    people.role_give(service, clusters["innocent"], INNOCENT, "viewer")
    for name in STORMERS:
        people.role_give(service, clusters["stormed"], name, "admin")
    innocent = people.person_enter(attacked.web("127.0.0.1"), INNOCENT)
    stormers = tuple(people.person_enter(attacked.web(), name) for name in STORMERS)
    service.wait_settled(clusters["innocent"])
    attacked.observe(innocent, f"/api/clusters/{clusters['innocent']}/summary")
    try:
        yield Cast(innocent, stormers, clusters["stormed"], clusters["innocent"])
    finally:
        attacked.close()


@pytest.fixture
def storming(attacked: Attacked, cast: Cast, record_property: Callable[[str, object], None]) -> Storming:
    """`with storming() as storm:` — judged when it is over."""
    return partial(attacked.storm, lambda text: record_property("figures", text))
