"""Services: the numbers they are given, and how they are shown."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.printing import cells
from tests.cases import cases
from tests.core.apiserver.asking import NOW
from tests.core.apiserver.test_apply import Asking

SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture
def clients() -> Asking:
    return Asking()


def test_local_load_balancer_gets_a_port_for_its_health_check_that_no_other_has(clients: Asking) -> None:
    used = set()
    for name in ("a", "b"):
        spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
        reply = clients.ask("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})
        assert reply.code == 201, reply.body
        spec = reply.body["spec"]
        used |= {spec["healthCheckNodePort"], *(port["nodePort"] for port in spec["ports"])}
    assert len(used) == 4
    assert all(30_000 <= port <= 32_767 for port in used)


def test_health_check_keeps_its_port_when_the_service_changes(clients: Asking) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    made = clients.ask("POST", SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    changed = clients.ask("PATCH", f"{SERVICES}/a", {"spec": {"selector": {"app": "web"}}})
    assert changed.body["spec"]["healthCheckNodePort"] == made.body["spec"]["healthCheckNodePort"]


def test_health_check_has_a_port_where_the_ports_have_none_and_one_that_is_taken_is_refused(clients: Asking) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": False}
    made = clients.ask("POST", SERVICES, {"metadata": {"name": "a"}, "spec": {**spec, "ports": [{"port": 80}]}})
    number = made.body["spec"]["healthCheckNodePort"]
    assert "nodePort" not in made.body["spec"]["ports"][0]
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": number}
    reply = clients.ask("POST", SERVICES, {"metadata": {"name": "b"}, "spec": {**spec, "ports": [{"port": 80}]}})
    assert reply.code == 422
    assert reply.body["message"].endswith(
        f"spec.healthCheckNodePort: Invalid value: {number}: provided port is already allocated"
    )
    clients.ask("DELETE", f"{SERVICES}/a")
    reply = clients.ask("POST", SERVICES, {"metadata": {"name": "b"}, "spec": {**spec, "ports": [{"port": 80}]}})
    assert (reply.code, reply.body["spec"]["healthCheckNodePort"]) == (201, number)


@cases(
    "ingress, external, shown",
    ("none yet", [], [], "<pending>"),
    ("sorted", [{"ip": "9.9.9.9"}, {"hostname": "a"}, {"ip": "1.1.1.1"}], [], "1.1.1.1,9.9.9.9,a"),
    ("each once", [{"ip": "9.9.9.9"}, {"ip": "9.9.9.9"}], ["5.5.5.5"], "9.9.9.9,5.5.5.5"),
    ("as they are given", [], ["5.5.5.5", "4.4.4.4"], "5.5.5.5,4.4.4.4"),
)
def test_external_addresses_of_a_load_balancer_are_shown(
    ingress: list[dict[str, str]], external: list[str], shown: str
) -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "externalIPs": external},
               "status": {"loadBalancer": {"ingress": ingress}}}  # fmt: skip
    assert cells(service, NOW)[3] == shown
