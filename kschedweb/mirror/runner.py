"""Which mirrors this process follows: it takes those nobody follows, each in a thread of its own."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field

import structlog
from django.db import Error as DatabaseError

from kschedweb.environment import load as load_environment
from kschedweb.mirror import services
from kschedweb.mirror.services import Held
from kschedweb.mirror.session import Follows, Open, open_session

log = structlog.get_logger(__name__)

STOP_SECONDS = 3.0


@dataclass
class Followers:
    """Sessions of this process by cluster."""

    holder: str
    open: Open = open_session
    _running: dict[int, tuple[Held, Follows, threading.Thread]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def follow(self) -> None:
        """Take what nobody follows; harmless when there is nothing."""
        for held in services.mirrors_take(holder=self.holder):
            session = self.open(held)
            thread = threading.Thread(
                target=self._run, args=(held, session), name=f"mirror-{held.cluster_id}", daemon=True
            )
            with self._guard:
                self._running[held.cluster_id] = (held, session, thread)
            log.info("following", cluster=held.cluster_id, epoch=held.epoch)
            thread.start()

    def stop(self) -> None:
        """End all sessions and let other processes follow at once."""
        with self._guard:
            running = list(self._running.values())
        for _, session, _ in running:
            session.end()
        for held, _, thread in running:
            thread.join(STOP_SECONDS)
            try:
                services.mirror_release(held=held)
            except DatabaseError as error:
                log.warning("mirror not released", cluster=held.cluster_id, reason=str(error).strip())

    def _run(self, held: Held, session: Follows) -> None:
        """The row stays taken for a while when this ends by an error: others then try, not too soon."""
        try:
            session.run()
        except DatabaseError as error:
            log.warning("following ended, the database is away", cluster=held.cluster_id, reason=str(error).strip())
        except Exception:
            log.exception("following ended", cluster=held.cluster_id)
        finally:
            with self._guard:
                if self._running.get(held.cluster_id, (None,))[0] is held:
                    del self._running[held.cluster_id]


_followers: Followers | None = None


def followers() -> Followers:
    """This process's followers; the name is that of this incarnation."""
    global _followers
    if _followers is None:
        _followers = Followers(f"{load_environment().worker_id}/{secrets.token_hex(4)}")
    return _followers


def follow() -> None:
    followers().follow()


def stop() -> None:
    """Called when the process is told to stop."""
    if _followers is not None:
        _followers.stop()
