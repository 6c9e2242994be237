"""Addresses and networks in what is written to the API server."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import ask, make, problems

Manifest = dict[str, Any]
CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ONE_EACH = "may specify no more than one IP for each IP family"


@cases(
    "ranges, told",
    ("one of each family", ["10.0.0.0/24", "fd00::/64"], []),
    ("leading zero", ["010.0.0.0/24"], []),
    ("no length", ["10.0.0.0"], [f'[0]: Invalid value: "10.0.0.0": {CIDR}']),
    ("length as a mask", ["10.0.0.0/255.255.255.0"], [f'[0]: Invalid value: "10.0.0.0/255.255.255.0": {CIDR}']),
    ("one range twice", ["10.0.0.0/24", "10.0.0.0/24"],
     [': Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: may specify no more than one CIDR for each IP family',
      '[1]: Duplicate value: "10.0.0.0/24"']),
)  # fmt: skip
def test_pod_ranges_of_a_node(frozen: ApiServer, ranges: list[str], told: list[str]) -> None:
    reply = ask(frozen, "POST", "Node", {"metadata": {"name": "x"}, "spec": {"podCIDRs": ranges}})
    assert problems(reply) == [f"spec.podCIDRs{text}" for text in told]


def test_one_pod_range_counts_more_than_several(frozen: ApiServer) -> None:
    spec = {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}
    reply = ask(frozen, "POST", "Node", {"metadata": {"name": "x"}, "spec": spec})
    assert reply.body["spec"] == {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]} | {
        "taints": reply.body["spec"]["taints"]
    }


@pytest.mark.parametrize(("ranges", "count"), [(["10.1.0.0/24"], 1), (["10.1.0.0/24", "fd01::/64"], 2), ([], 1)])
def test_pod_ranges_stay(frozen: ApiServer, ranges: list[str], count: int) -> None:
    make(frozen, "Node", spec={"podCIDRs": ["10.0.0.0/24", "fd00::/64"]})
    detail = 'Forbidden: node updates may not change podCIDR except from "" to valid'
    body = {"metadata": {"name": "x"}, "spec": {"podCIDRs": ranges}}
    assert problems(ask(frozen, "PUT", "Node", body, "x")) == [f"spec.podCIDRs: {detail}"] * count


@cases(
    "spec, told",
    ("two of one family", {"clusterIPs": ["10.96.9.9", "10.96.9.8"], "clusterIP": "10.96.9.9"},
     [f'spec.clusterIPs: Invalid value: ["10.96.9.9","10.96.9.8"]: {ONE_EACH}']),
    ("unspecified", {"externalIPs": ["0.0.0.0"]},
     ['spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)']),
    ("multicast", {"externalIPs": ["224.1.0.1"]}, []),
    ("source that is no range", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1"]},
     [f'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1": {CIDR}']),
)  # fmt: skip
def test_addresses_of_a_service(frozen: ApiServer, spec: Manifest, told: list[str]) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}], **spec}}
    assert problems(ask(frozen, "POST", "Service", body)) == told
