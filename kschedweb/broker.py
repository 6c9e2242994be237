"""Celery's Redis transport, with one repair: a message whose acknowledgement fails does not keep its place.

A worker here takes one message at a time. Upstream frees that place only after the broker has heard that the message
is done; when the broker is away at that moment, nothing repeats it, and the worker never takes a message again.

And a worker that waits for a message sleeps: it asks for one every ten seconds, not every second, and does not look
every second after queues that expire, of which there are none. So a signal has to wake it, and it ends its waiting by
itself when it is told to stop.
"""

import os
import signal
from contextlib import suppress
from functools import cache
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual

WAIT_SECONDS = 10  # that Valkey keeps a worker waiting; a message that comes is handed over at once


class QoS(redis.QoS):
    """What a worker holds of its queues."""

    def ack(self, delivery_tag: str) -> None:
        try:
            redis.QoS.ack(self, delivery_tag)
        finally:
            # The broker gives it out once more later, which changes nothing: messages only wake.
            virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            redis.QoS.reject(self, delivery_tag, requeue=requeue)
        finally:
            virtual.QoS.ack(self, delivery_tag)


class Channel(redis.Channel):
    """Ends its waiting before it is closed: upstream first reads the answer, which would take ten seconds."""

    QoS = QoS
    _waits_on: Any = None  # the socket
    _waits_as: int = 0  # its number at the server

    def _brpop_start(self, timeout: float | None = None) -> None:
        waiting = self.client.connection
        if waiting._sock is None or waiting._sock is not self._waits_on:
            waiting.send_command("CLIENT", "ID")
            self._waits_as, self._waits_on = int(waiting.read_response()), waiting._sock
        super()._brpop_start(timeout)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self._in_poll:
            with suppress(*Transport.connection_errors), self.conn_or_acquire() as client:
                client.client_unblock(self._waits_as)
        super().close()  # type: ignore[no-untyped-call]


class Transport(redis.Transport):
    Channel = Channel
    brpop_timeout = WAIT_SECONDS

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        super().register_with_event_loop(connection, loop)  # type: ignore[no-untyped-call]
        cycle: Any = self.cycle
        cycle._binding_expiry_tref.cancel()
        woken = _woken_by_signals()
        loop.add_reader(woken, _drain, woken)


@cache
def _woken_by_signals() -> int:
    """Something to read comes here with every signal; what its handler notes is looked at when the loop is awake."""
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_wake_nobody)
    return reading


def _wake_nobody() -> None:
    with suppress(ValueError):  # not the main thread
        signal.set_wakeup_fd(-1)


def _drain(reading: int) -> None:
    with suppress(BlockingIOError):
        while os.read(reading, 4096):
            pass


def install() -> None:
    """What addresses of Celery mean by redis and rediss from now on; to be called before the first connection."""
    TRANSPORT_ALIASES.update(redis=f"{__name__}:Transport", rediss=f"{__name__}:Transport")
