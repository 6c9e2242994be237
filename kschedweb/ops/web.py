"""`python -m kschedweb.ops.web`: the ASGI server with its options; host and port come from the environment.

One granian worker: a second process would have a second reader of every cluster's logs; more of them are more machines.
"""

import os
import signal
import sys
from typing import Any

from kschedweb import environment
from kschedweb.ops.processes import die_with_parent

POOL_SIZE = 8
STOP_SECONDS = 5
PARENT_VARIABLE = "KSCHED_WEB_PARENT"  # from the server to its worker process, nobody sets it


def application() -> Any:
    """The ASGI application, made in the worker process, which from then on dies with the server."""
    die_with_parent(signal.SIGKILL, parent=int(os.environ[PARENT_VARIABLE]))()

    from kschedweb.asgi import application as asgi_application
    from kschedweb.common.collector import ease

    ease()
    return asgi_application


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    # Threads of the web process come and go, so they share a pool of connections.
    os.environ.setdefault("KSCHED_DATABASE_POOL", str(POOL_SIZE))
    os.environ[PARENT_VARIABLE] = str(os.getpid())
    try:
        settings = environment.load()
    except environment.EnvironmentProblem as problem:
        sys.exit(f"kschedweb cannot start, the environment is not usable:\n{problem}")

    if not settings.debug:
        _refuse_default_passwords()

    from granian import Granian
    from granian.constants import Interfaces

    Granian(
        "kschedweb.ops.web:application",
        factory=True,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGINL,  # nothing of ours has a lifespan
        workers=1,
        websockets=True,
        log_access=False,
        # A worker that ends unasked ends the server: whoever supervises it starts it again.
        respawn_failed_workers=False,
        workers_kill_timeout=STOP_SECONDS,
    ).serve()


def _refuse_default_passwords() -> None:
    """End here when an administrator has a password everybody knows."""
    import django

    django.setup()

    from django.db import DatabaseError, connections
    from django.db.backends.postgresql.base import DatabaseWrapper

    from kschedweb.accounts.checks import default_passwords

    try:
        names = default_passwords()
    except DatabaseError as problem:
        # The database is away, or has no tables yet: /readyz tells, and nobody can log in.
        print(f"passwords of administrators were not checked: {str(problem).partition(chr(10))[0]}", file=sys.stderr)
        return
    finally:
        connections.close_all()
        # The worker process is a fork of this one: a pool it inherited would have no threads, hence never reconnect.
        database = connections["default"]
        assert isinstance(database, DatabaseWrapper)
        database.close_pool()
    if names:
        sys.exit(
            f"kschedweb cannot start: the password of {', '.join(names)} is a default one; "
            f"set another with: python manage.py changepassword {names[0]}"
        )


if __name__ == "__main__":
    main()
