"""A worker takes messages again although the broker never heard that the last one was done."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue
from redis.exceptions import ConnectionError as BrokerAway

from kschedweb import broker
from kschedweb.celery import app
from kschedweb.environment import broker_url
from tests.cases import cases
from tests.waiting import HANG_SECONDS


@pytest.fixture
def connection(valkey_url: str) -> Iterator[Connection]:
    with Connection(broker_url(valkey_url)) as made:
        yield made


@cases(
    "finish",
    ("done", lambda message: message.ack()),
    ("thrown away", lambda message: message.reject()),
    ("given back", lambda message: message.reject(requeue=True)),
)
def test_worker_takes_the_next_message_when_the_broker_was_away_at_the_end_of_one(
    connection: Connection, finish: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    with connection.SimpleQueue("wakes") as queue:
        queue.put({"place": 1})
        queue.put({"place": 2})
    with Consumer(
        connection, queues=[Queue("wakes")], callbacks=[lambda _, message: taken.append(message)]
    ) as consumer:
        consumer.qos(prefetch_count=1)
        connection.drain_events(timeout=HANG_SECONDS)
        assert [message.payload["place"] for message in taken] == [1]
        with monkeypatch.context() as away:
            away.setattr(broker.QoS, "pipe_or_acquire", _refuse)
            away.setattr(broker.QoS, "restore_by_tag", _refuse)
            with pytest.raises(BrokerAway):
                finish(taken[0])
        connection.drain_events(timeout=HANG_SECONDS)
        assert [message.payload["place"] for message in taken] == [1, 2]
        taken[1].ack()


@pytest.mark.parametrize("url", ["redis://h:1/0", "rediss://h:1/0", "redis+socket:///s?virtual_host=0"])
def test_workers_speak_with_the_broker_by_the_repaired_transport(url: str) -> None:
    assert isinstance(app.connection_for_read(url).transport, broker.Transport)


def _refuse(*_: object, **__: object) -> None:
    raise BrokerAway("refused")
