"""Services: the numbers they are given, and how they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.printing import cells
from tests.cases import cases
from tests.core.apiserver.asking import NOW
from tests.core.apiserver.test_apply import Asking

Manifest = dict[str, Any]
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


def node_ports(clients: Asking, method: str, name: str, *ports: Manifest) -> list[int] | str:
    """The node ports that a service gets, or why it does not."""
    version = clients.ask("GET", f"{SERVICES}/{name}").body.get("metadata", {}).get("resourceVersion", "")
    metadata = {"name": name, **({"resourceVersion": version} if version else {})}
    path = SERVICES if method == "POST" else f"{SERVICES}/{name}"
    reply = clients.ask(method, path, {"metadata": metadata, "spec": {"type": "NodePort", "ports": list(ports)}})
    if reply.code >= 400:
        return str(reply.body["message"]).partition("spec.")[2]
    return [port["nodePort"] for port in reply.body["spec"]["ports"]]


WEB, TLS, QUIC = (
    {"name": "web", "port": 80}, {"name": "tls", "port": 443}, {"name": "quic", "port": 443, "protocol": "UDP"},
)  # fmt: skip


def test_ports_of_one_number_share_the_node_port_that_a_new_service_gets(clients: Asking) -> None:
    web, tls, quic = node_ports(clients, "POST", "a", WEB, TLS, QUIC)
    assert tls == quic != web
    assert node_ports(clients, "POST", "b", TLS, {**QUIC, "nodePort": 30005}) == [30005, 30005]
    node_ports(clients, "POST", "c", WEB)
    assert len({*node_ports(clients, "PUT", "c", WEB, TLS, QUIC)}) == 3


def test_ports_of_a_service_that_changes_share_the_node_port_that_is_asked_for(clients: Asking) -> None:
    node_ports(clients, "POST", "a", WEB)
    asked = {**WEB, "nodePort": 30006}, {**QUIC, "nodePort": 30006}
    assert node_ports(clients, "PUT", "a", *asked) == [30006, 30006]


def test_node_port_is_of_the_range(clients: Asking) -> None:
    told = "provided port is not in the valid range. The range of valid ports is 30000-32767"
    wanted = f"ports[0].nodePort: Invalid value: 29999: {told}"
    assert node_ports(clients, "POST", "a", {**WEB, "nodePort": 29999}) == wanted


def test_node_port_that_is_asked_for_is_looked_at_where_none_are_given(clients: Asking) -> None:
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{**WEB, "nodePort": 30005}]}
    codes = [
        clients.ask("POST", SERVICES, {"metadata": {"name": name}, "spec": spec}).code for name in ("first", "second")
    ]
    assert codes == [201, 422]


def test_a_node_port_is_one_whatever_the_protocol(clients: Asking) -> None:
    assert node_ports(clients, "POST", "a", {**WEB, "nodePort": 30005}) == [30005]
    taken = "ports[0].nodePort: Invalid value: 30005: provided port is already allocated"
    assert node_ports(clients, "POST", "b", {**QUIC, "nodePort": 30005}) == taken
    twice = node_ports(clients, "POST", "b", {**WEB, "nodePort": 30006}, {**QUIC, "nodePort": 30006})
    assert twice == "ports[1].nodePort: Invalid value: 30006: provided port is already allocated"


def test_a_port_keeps_its_node_port_by_its_name(clients: Asking) -> None:
    node_ports(clients, "POST", "a", {**WEB, "nodePort": 31001}, {**TLS, "nodePort": 31002})
    assert node_ports(clients, "PUT", "a", {**WEB, "port": 8080}, TLS) == [31001, 31002]
    renamed, kept = node_ports(clients, "PUT", "a", {"name": "http", "port": 8080}, TLS)
    assert kept == 31002 and renamed != 31001
    moved, given = node_ports(clients, "PUT", "a", TLS, {"name": "http", "port": 8080, "nodePort": 31002})
    assert given == 31002 != moved


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
