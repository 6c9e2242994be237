"""What one pod costs in each of the three processes it passes: `pytest tests/bench/bench_parts.py -s`.

No test of the suite: its name keeps it from being collected unless it is asked for. Figures of docs/benchmarks.md.
"""

import cProfile
import json
import os
import pstats
import time
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.choices import Role
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster
from kschedweb.kubeapi import answering
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.exchange import Request
from kschedweb.scheduling.runner import bindings
from tests.builders import make_node
from tests.web.conftest import _valkey_runs, cluster, django_db_modify_db_settings, django_db_setup
from tests.web.scheduling.conftest import lead, put, settle

__all__ = ["_valkey_runs", "cluster", "django_db_modify_db_settings", "django_db_setup"]

PODS = 200
NODES = 1_000


@pytest.mark.django_db(transaction=True)
def test_parts(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    zones = [f"zone{place % 3}" for place in range(NODES)]
    put(
        cluster,
        *(
            make_node(f"n{place}")
            .capacity(cpu="32", memory="64Gi", pods="110")
            .label(**{"topology.kubernetes.io/zone": zone})
            for place, zone in enumerate(zones)
        ),
    )
    host = settle(lead(cluster))
    who = Principal("t", ("system:authenticated",), Role.ADMIN, cluster.pk, LifecycleMode.SIMULATE, actor="t")
    took: dict[str, list[float]] = {}
    profiles: dict[str, cProfile.Profile] = {}

    def part(name: str, call: Callable[[], Any]) -> None:
        profile = profiles.setdefault(name, cProfile.Profile())
        if os.environ.get("PROFILE"):
            profile.enable()
        started, cpu = time.perf_counter(), time.process_time()
        call()
        took.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        took.setdefault(name + " cpu", []).append((time.process_time() - cpu) * 1000)
        profile.disable()

    for place in range(PODS):
        container = {
            "name": "c",
            "image": "registry/app:1",
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{place}", "labels": {"app": "bench"}},
            "spec": {"containers": [container]},
        }
        request = Request(
            "c",
            "POST",
            "/api/v1/namespaces/default/pods",
            {},
            {"content-type": "application/json"},
            json.dumps(pod).encode(),
        )
        part("POST", lambda request=request: answering.answer(request, who))
        part("step", host.step)
        part("binding", lambda: bindings.bindings_run(cluster.pk))
        part("confirm", host.step)
    for name, each in took.items():
        each.sort()
        print(f"{name:12} p50 {each[len(each) // 2]:.2f} p95 {each[len(each) * 95 // 100]:.2f}")
    if os.environ.get("PROFILE"):
        for name, profile in profiles.items():
            print("=====", name)
            pstats.Stats(profile).sort_stats(os.environ["PROFILE"]).print_stats(45)
