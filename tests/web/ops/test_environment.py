"""Wrong values in the environment end the process at start, with one line for each of them."""

import os
import subprocess
import sys

import pytest

from kschedweb import environment
from tests.cases import cases

GOOD = {
    "DATABASE_URL": "postgresql://u:p@db:5433/name",
    "REDIS_URL": "redis://cache:6379/1",
    "KSCHED_SECRET_KEY": "0123456789abcdef" * 4,
}


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in environment.variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@cases(
    "name, value, want",
    ("no database", "DATABASE_URL", None, "DATABASE_URL: is not set"),
    ("other database", "DATABASE_URL", "mysql://x/y", "DATABASE_URL: must begin with postgresql://"),
    ("no database name", "DATABASE_URL", "postgresql://x", "DATABASE_URL: names no database"),
    ("unknown option", "DATABASE_URL", "postgresql://h/d?pool=3", 'is not known: "pool"'),
    ("broken address", "DATABASE_URL", "postgresql://u:p@[::1/d", "DATABASE_URL: cannot be read"),
    ("other broker", "REDIS_URL", "http://x", "REDIS_URL: must begin with redis://"),
    ("no socket", "REDIS_URL", "unix://", "REDIS_URL: names no socket"),
    ("no secret", "KSCHED_SECRET_KEY", "", "KSCHED_SECRET_KEY: "),
    ("part of an example's", "KSCHED_SECRET_KEY", "please-changeme-" * 4, "KSCHED_SECRET_KEY: "),
    ("short secret", "KSCHED_SECRET_KEY", "short", "KSCHED_SECRET_KEY: needs at least 50"),
    ("example secret", "KSCHED_SECRET_KEY", "changeme" * 8, "KSCHED_SECRET_KEY: is a value from"),
    ("monotonous secret", "KSCHED_SECRET_KEY", "0123456" * 8, "KSCHED_SECRET_KEY: is made of too few"),
    ("default password", "DATABASE_URL", "postgresql://u:Postgres@h/n", "DATABASE_URL: has a default"),
    ("in the query", "DATABASE_URL", "postgresql:///n?host=h&password=changeme", "DATABASE_URL: has"),
    ("broker's password", "REDIS_URL", "redis://:password@h/0", "REDIS_URL: has a default password"),
    ("extender's URL", "KSCHED_EXTENDER_HOSTS", "http://h", "KSCHED_EXTENDER_HOSTS: 'http://h'"),
    ("gate without value", "KSCHED_FEATURE_GATES", "A", "KSCHED_FEATURE_GATES: 'A' is not Name=true"),
    ("gate there is not", "KSCHED_FEATURE_GATES", "A=true", "unrecognized feature gate: A"),
    ("extender's port", "KSCHED_EXTENDER_HOSTS", "h:x", "KSCHED_EXTENDER_HOSTS: 'h:x' is neither"),
    ("rate below 0", "KSCHED_IMPORTS_PER_MINUTE", "-1", "KSCHED_IMPORTS_PER_MINUTE: "),
    ("every host", "KSCHED_ALLOWED_HOSTS", "*", "KSCHED_ALLOWED_HOSTS: '*' is refused"),
    ("no scheme", "KSCHED_TRUSTED_ORIGINS", "example.org", "KSCHED_TRUSTED_ORIGINS: 'example.org'"),
    ("port is no number", "KSCHED_PORT", "http", "KSCHED_PORT: "),
    ("port too large", "KSCHED_PORT", "70000", "KSCHED_PORT: "),
    ("neither true nor false", "KSCHED_DEBUG", "perhaps", "KSCHED_DEBUG: "),
    ("unknown format", "KSCHED_LOG_FORMAT", "xml", "KSCHED_LOG_FORMAT: "),
    ("short lease", "KSCHED_LEASE_DURATION_SECONDS", "10", "KSCHED_LEASE_DURATION_SECONDS: must be greater"),
    ("few tries", "KSCHED_RETRY_PERIOD_SECONDS", "9", "KSCHED_RENEW_DEADLINE_SECONDS: must be greater than 1.2"),
    ("worker id with a space", "KSCHED_WORKER_ID", "a b", "KSCHED_WORKER_ID: "),
)
def test_load_names_the_variable_when_its_value_is_wrong(
    clean: pytest.MonkeyPatch, name: str, value: str | None, want: str
) -> None:
    if value is None:
        clean.delenv(name)
    else:
        clean.setenv(name, value)
    with pytest.raises(environment.EnvironmentProblem) as caught:
        environment.load()
    assert want in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_load_reports_every_wrong_variable_at_once(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("KSCHED_PORT", "x")
    clean.delenv("REDIS_URL")
    with pytest.raises(environment.EnvironmentProblem) as caught:
        environment.load()
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == ["REDIS_URL", "KSCHED_PORT"]


def test_service_listens_on_this_machine_only_unless_told_otherwise(clean: pytest.MonkeyPatch) -> None:
    assert environment.load().host == "127.0.0.1"


def test_load_splits_lists_at_commas(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("KSCHED_ALLOWED_HOSTS", "a.example, b.example,")
    assert environment.load().allowed_hosts == ["a.example", "b.example"]


@cases(
    "debug, https, want",
    ("production is https", "0", None, True),
    ("debugging is not", "1", None, False),
    ("production without, on demand", "0", "0", False),
    ("debugging with, on demand", "1", "1", True),
)
def test_secure_follows_https_else_debug(clean: pytest.MonkeyPatch, debug: str, https: str | None, want: bool) -> None:
    clean.setenv("KSCHED_DEBUG", debug)
    if https is not None:
        clean.setenv("KSCHED_HTTPS", https)
    assert environment.load().secure is want


def test_database_settings_of_a_host() -> None:
    found = environment.database_settings("postgresql://us%40er:p%2Fw@db.example:5433/name?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["HOST"]) == ("us@er", "p/w", "db.example")
    assert (found["PORT"], found["NAME"], found["OPTIONS"]) == ("5433", "name", {"sslmode": "require"})


def test_database_settings_of_a_socket() -> None:
    url = "postgresql:///ksched?host=/run/pg&port=5432&user=ksched&passfile=/a%20b/pgpass"
    found = environment.database_settings(url)
    assert (found["HOST"], found["PORT"], found["USER"]) == ("/run/pg", "5432", "ksched")
    assert (found["NAME"], found["PASSWORD"], found["OPTIONS"]) == ("ksched", "", {"passfile": "/a b/pgpass"})


@cases(
    "url, want",
    ("socket", "unix:///run/v.sock", "redis+socket:///run/v.sock?virtual_host=0"),
    ("socket and database", "unix:///run/v.sock?db=3", "redis+socket:///run/v.sock?virtual_host=3"),
    ("host", "redis://h:6379/2", "redis://h:6379/2"),
)
def test_broker_url_says_the_same_in_the_words_of_celery(url: str, want: str) -> None:
    assert environment.broker_url(url) == want


def test_settings_end_the_process_when_the_environment_is_wrong() -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in environment.variables()}
    result = subprocess.run(
        [sys.executable, "-c", "import kschedweb.settings"], env={**inherited, **GOOD, "KSCHED_PORT": "x"},
        cwd=environment.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 1
    assert "KSCHED_PORT: " in result.stderr
    assert "Traceback" not in result.stderr


@cases(
    "pool, age, has_pool",
    ("workers keep one", "0", "None", "False"),
    ("web has a pool", "4", "0", "True"),
)
def test_settings_choose_between_pool_and_kept_connection(pool: str, age: str, has_pool: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in environment.variables()}
    show = "from kschedweb.settings import DATABASES"
    show += "; d = DATABASES['default']; print(d['CONN_MAX_AGE'], 'pool' in d['OPTIONS'])"
    result = subprocess.run(
        [sys.executable, "-c", show], env={**inherited, **GOOD, "KSCHED_DATABASE_POOL": pool}, cwd=environment.ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stdout.split() == [age, has_pool]
