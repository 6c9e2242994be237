"""A worker takes messages again although the broker never heard that the last one was done."""

import os
import select
import signal
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


def test_worker_asks_for_a_message_every_ten_seconds(connection: Connection) -> None:
    assert connection.default_channel.brpop_timeout == 10


def _refuse(*_: object, **__: object) -> None:
    raise BrokerAway("refused")


def test_signal_wakes_a_worker_that_sleeps() -> None:
    """Its handler only notes that the worker is to end; what sleeps on files looks at that when one can be read."""
    before = signal.set_wakeup_fd(-1)
    heard: list[int] = []
    handler = signal.signal(signal.SIGUSR2, lambda number, _: heard.append(number))
    try:
        woken = broker._woken_by_signals.__wrapped__()
        assert select.select([woken], [], [], 0)[0] == []
        signal.raise_signal(signal.SIGUSR2)
        assert select.select([woken], [], [], HANG_SECONDS)[0] == [woken] and heard
        broker._drain(woken)
        assert select.select([woken], [], [], 0)[0] == []
    finally:
        signal.signal(signal.SIGUSR2, handler)
        os.close(signal.set_wakeup_fd(before))
        os.close(woken)


def test_channel_that_waits_for_a_message_is_closed_at_once_and_loses_none(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its waiting would last for longer than any test may."""
    monkeypatch.setattr(broker.Transport, "brpop_timeout", 10 * HANG_SECONDS)
    with connection.SimpleQueue("wakes") as queue:
        queue.clear()
        with Connection(connection.as_uri(include_password=True)) as other:
            with Consumer(other, queues=[Queue("wakes")], callbacks=[lambda *_: None]) as consumer:
                with pytest.raises(TimeoutError):
                    other.drain_events(timeout=0.01)
                assert consumer.channel._in_poll
            consumer.channel.close()
        queue.put({"place": 1})
        assert queue.get(timeout=HANG_SECONDS).payload == {"place": 1}
