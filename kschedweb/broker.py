"""Celery's Redis transport, with one repair: a message whose acknowledgement fails does not keep its place.

A worker here takes one message at a time. Upstream frees that place only after the broker has heard that the message
is done; when the broker is away at that moment, nothing repeats it, and the worker never takes a message again.
"""

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


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
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


def install() -> None:
    """What addresses of Celery mean by redis and rediss from now on; to be called before the first connection."""
    TRANSPORT_ALIASES.update(redis=f"{__name__}:Transport", rediss=f"{__name__}:Transport")
