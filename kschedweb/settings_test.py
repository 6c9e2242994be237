"""Settings of the tests: databases of the run's own, or those that DATABASE_URL and REDIS_URL name.

The run directory is named here and made by the fixtures which start the servers. PostgreSQL is one for the run, with
a database for each worker of pytest-xdist; Valkey is one for each worker: its publish and subscribe know no databases.
"""

import os
import tempfile

RUN_DIR = os.environ.setdefault("KSCHED_TEST_RUN_DIR", f"{tempfile.gettempdir()}/ksched-{os.getuid()}-{os.getpid()}")

os.environ.setdefault(
    "DATABASE_URL", f"postgresql:///ksched?host={RUN_DIR}/pg&user=ksched&passfile={RUN_DIR}/data/postgres.pgpass"
)
if os.environ.get("REDIS_URL", f"unix://{RUN_DIR}").startswith(f"unix://{RUN_DIR}"):
    os.environ["REDIS_URL"] = f"unix://{RUN_DIR}/valkey-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}/valkey.sock"
os.environ.setdefault("KSCHED_SECRET_KEY", "only-for-tests-" + "0123456789" * 4)
os.environ.setdefault("KSCHED_HTTPS", "0")
# Tests upload faster than people; those of the limits set their own.
os.environ.setdefault("KSCHED_IMPORTS_PER_MINUTE", "0")
os.environ.setdefault("KSCHED_OBJECT_POSTS_PER_MINUTE", "0")
os.environ.setdefault("KSCHED_EXTENDER_HOSTS", "127.0.0.1,localhost,extender.example,e")
os.environ.setdefault("KSCHED_DATA_DIR", f"{RUN_DIR}/data")

from kschedweb.settings import *  # noqa: E402, F403

# A busy machine is no Valkey that is away: what is counted there would not be counted.
CACHES["default"] |= {"OPTIONS": {"socket_timeout": 30, "socket_connect_timeout": 30}}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
