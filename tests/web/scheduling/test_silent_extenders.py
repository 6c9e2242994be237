"""Extenders that never answer: their cluster gets errors, and no other cluster waits for them."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.models import Lease
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod, scheduler_config
from tests.waiting import eventually
from tests.web.conftest import StartProcess
from tests.web.scheduling import odd_extenders as odd
from tests.web.scheduling.conftest import put

pytestmark = pytest.mark.django_db(transaction=True)

BAD = {"silent": odd.silent, "dripping": odd.drips(b"", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 50_000, pause=1.0)}
GOOD_PODS = 20
LEASE = {
    "KSCHED_LEASE_DURATION_SECONDS": "3",
    "KSCHED_RENEW_DEADLINE_SECONDS": "2",
    "KSCHED_RETRY_PERIOD_SECONDS": "0.5",
}


def asks(url: str) -> str:
    """A configuration with an extender that is waited for an hour."""
    return scheduler_config(extenders=[{"urlPrefix": url, "filterVerb": "filter", "httpTimeout": "1h"}])


def pods(cluster: Cluster, prefix: str, count: int) -> None:
    put(cluster, *(make_pod(f"{prefix}{i}").req(cpu="1m") for i in range(count)))


def test_other_clusters_go_on_while_extenders_do_not_answer(start_worker: StartProcess) -> None:
    environment = {**LEASE, "KSCHED_EXTENDER_HOSTS": "127.0.0.1"}
    node = make_node("n").capacity(cpu="12", memory="64Gi", pods="110").manifest()
    with ExitStack() as stack:
        extenders = {name: stack.enter_context(odd.odd_extender(behaviour)) for name, behaviour in BAD.items()}
        bad = [
            Cluster.objects.create(name=name, seed=1, scheduler_config=asks(extender.url))
            for name, extender in extenders.items()
        ]
        good = Cluster.objects.create(name="good", seed=1)
        for cluster in (*bad, good):
            put(cluster, node)
        start_worker("scheduler", **environment, KSCHED_WORKER_ID="one")
        eventually(lambda: Lease.objects.filter(holder__startswith="one/").count() == len(BAD) + 1)
        standby = start_worker("scheduler", **environment, KSCHED_WORKER_ID="two")
        eventually(lambda: "attempting to acquire" in standby.log_path.read_text(errors="replace"))  # type: ignore[attr-defined]
        for cluster in bad:
            pods(cluster, "p", 2)
        eventually(lambda: bool(sweep()) and any(extender.asked for extender in extenders.values()))

        def scheduled(prefix: str) -> bool:
            sweep()  # as beat has it done
            return (
                Attempt.objects.filter(cluster=good, name__startswith=prefix, result="scheduled").count() == GOOD_PODS
            )

        for prefix in ("first", "second"):
            pods(good, prefix, GOOD_PODS)
            eventually(lambda prefix=prefix: scheduled(prefix))  # type: ignore[misc]
        for cluster in bad:
            eventually(lambda cluster=cluster: Attempt.objects.filter(cluster=cluster, result="error").exists())  # type: ignore[misc]
            attempt = Attempt.objects.filter(cluster=cluster, result="error")[0]
            assert attempt.message.endswith("the extenders of one step have 2s together, and they are over")
