"""What controllers order is carried out, and the scheduler hears of it."""

import pytest
from django.utils import timezone

from kschedweb.cluster.services import cluster_create
from kschedweb.lifecycle.services import Orders, orders_carry_out


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("orders", "want"),
    [
        pytest.param(Orders(), [], id="nothing"),
        pytest.param(Orders(cordons=[("n1", True)]), ["scheduling.ensure_leader"], id="a node that is gone"),
    ],
)
def test_scheduler_is_woken_when_something_was_ordered(
    orders: Orders, want: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, sent = cluster_create(name="c"), list[str]()
    monkeypatch.setattr("kschedweb.common.wake.send", lambda name, **_: sent.append(name))
    orders_carry_out(cluster_id=cluster.pk, orders=orders, actor="test", now=timezone.now())
    assert sent == want
