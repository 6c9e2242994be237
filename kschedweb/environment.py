"""Every variable the service reads from its environment, with its default and its check.

Wrong values fail at start with one line for each variable that is wrong. Lists are written with commas.
`./ksched up` sets what a laptop needs; in production set at least those marked with a star.

| variable                      | default                 | meaning
| DATABASE_URL *                |                         | postgresql://user:secret@host:port/name; socket: ?host=/dir
| REDIS_URL *                   |                         | redis://host:port/0, rediss://… or unix:///path of a socket
| KSCHED_SECRET_KEY *           | random when debugging   | signs sessions; at least 50 characters
| KSCHED_DEBUG                  | false                   | error pages with details, no secret needed
| KSCHED_HTTPS                  | true unless debugging   | secure cookies, redirect to https, trusts X-Forwarded-Proto
| KSCHED_ALLOWED_HOSTS *        |                         | names of this service besides 127.0.0.1, localhost, [::1]
| KSCHED_TRUSTED_ORIGINS        |                         | further origins of forms and WebSockets, with scheme
| KSCHED_PROXIES                |                         | addresses or networks whose X-Forwarded-For is believed
| KSCHED_EXTENDER_HOSTS         |                         | host or host:port of extenders that configurations may name
| KSCHED_FEATURE_GATES          |                         | of the scheduler, as Name=true,Other=false
| KSCHED_ADMISSION_PLUGINS      | MemoryPressureToleration| of pods; also LimitPodHardAntiAffinityTopology
| KSCHED_IMPORTS_PER_MINUTE     | 120                     | of one user, and changes of configurations; 0: no limit
| KSCHED_OBJECT_POSTS_PER_MINUTE| 6000                    | of one user; 0: no limit
| KSCHED_DATA_DIR               | .ksched in the tree     | logs, beat's schedule, embedded databases
| KSCHED_HOST                   | 127.0.0.1               | address the web process listens on
| KSCHED_PORT                   | 8480                    | and its port
| KSCHED_TLS_CERT               |                         | file with the certificate (PEM) to answer https with
| KSCHED_TLS_KEY                |                         | file with its private key; both or neither
| KSCHED_DATABASE_POOL          | 0                       | size of the connection pool; 0: one kept for each thread
| KSCHED_WORKER_ID              | host name, 8 hex digits | names one incarnation of a scheduler worker
| KSCHED_LEASE_DURATION_SECONDS | 15                      | a leader unheard of for so long may be replaced
| KSCHED_RENEW_DEADLINE_SECONDS | 10                      | a leader that cannot renew for so long stops leading
| KSCHED_RETRY_PERIOD_SECONDS   | 2                       | pause between two tries to renew or to take a lease
| KSCHED_LOG_LEVEL              | INFO                    | DEBUG, INFO, WARNING or ERROR
| KSCHED_LOG_FORMAT             | console                 | console or json
| KSCHED_LOG_VERBOSITY          | 0                       | how much the scheduler tells: 2 results, 3 cycles, up to 10

The launchers of the embedded servers and ./ksched read, before any of this: KSCHED_POSTGRES_BIN (bin directory of a
PostgreSQL), KSCHED_VALKEY_BIN (a valkey-server) and KSCHED_VENV (where the Python environment is made).
"""

import secrets
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from psycopg import ProgrammingError, conninfo
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from scheduler_core.config import feature_gates
from scheduler_core.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent

LEASE_JITTER = 1.2  # a pause between two tries is up to so much longer
WEAK_SECRETS = ("changeme", "change-me", "secret", "insecure", "example")
# What documentation and images of PostgreSQL and Valkey begin with, and people leave as it is.
DEFAULT_PASSWORDS = frozenset(
    {"admin", "change-me", "changeme", "example", "ksched", "kschedweb", "password", "postgres", "secret"}
)

Network = IPv4Network | IPv6Network
CommaList = Annotated[list[str], NoDecode]
AdmissionPlugin = Literal["MemoryPressureToleration", "LimitPodHardAntiAffinityTopology"]


class EnvironmentProblem(Exception):
    """The environment cannot be used; the text has one line for each variable that is wrong."""


class Environment(BaseSettings):
    """The variables, typed; `load()` is the way to make one."""

    model_config = SettingsConfigDict(env_prefix="KSCHED_", extra="ignore", frozen=True)

    database_url: str = Field(validation_alias="DATABASE_URL")
    redis_url: str = Field(validation_alias="REDIS_URL")
    secret_key: str = ""
    debug: bool = False
    https: bool | None = None
    allowed_hosts: CommaList = []
    trusted_origins: CommaList = []
    proxies: Annotated[list[Network], NoDecode] = []
    extender_hosts: CommaList = []
    feature_gates: Annotated[dict[str, bool], NoDecode] = {}
    admission_plugins: Annotated[list[AdmissionPlugin], NoDecode] = ["MemoryPressureToleration"]
    imports_per_minute: int = Field(default=120, ge=0)
    object_posts_per_minute: int = Field(default=6000, ge=0)
    data_dir: Path = ROOT / ".ksched"
    host: str = "127.0.0.1"
    port: int = Field(default=8480, ge=1, le=65535)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    database_pool: int = Field(default=0, ge=0, le=200)
    worker_id: str = Field(default="", pattern=r"^[A-Za-z0-9._-]{0,100}$")
    lease_duration_seconds: float = Field(default=15.0, gt=0)
    renew_deadline_seconds: float = Field(default=10.0, gt=0)
    retry_period_seconds: float = Field(default=2.0, gt=0)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["console", "json"] = "console"
    log_verbosity: int = Field(default=0, ge=0, le=10)

    @field_validator(
        "allowed_hosts", "trusted_origins", "proxies", "extender_hosts", "admission_plugins", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("feature_gates", mode="before")
    @classmethod
    def _gates(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        gates: dict[str, bool] = {}
        for part in filter(None, (part.strip() for part in value.split(","))):
            name, _, word = part.partition("=")
            if word.lower() not in ("true", "false"):
                raise ValueError(f"{part!r} is not Name=true or Name=false")
            gates[name] = word.lower() == "true"
        try:
            feature_gates.completed(gates)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return gates

    @field_validator("trusted_origins")
    @classmethod
    def _origins(cls, value: list[str]) -> list[str]:
        for origin in value:
            if urlsplit(origin).scheme not in ("http", "https"):
                raise ValueError(f"{origin!r} is no origin: write it as https://name")
        return value

    @field_validator("extender_hosts")
    @classmethod
    def _hosts(cls, value: list[str]) -> list[str]:
        for entry in value:
            try:
                parts = urlsplit(f"//{entry}")
                usable = bool(parts.hostname) and parts.port != 0 and not (parts.path or parts.query or parts.username)
            except ValueError:
                usable = False
            if not usable:
                raise ValueError(f"{entry!r} is neither host nor host:port")
        return value

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str) -> str:
        database_settings(value)
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: str) -> str:
        broker_url(value)
        return value

    @model_validator(mode="after")
    def _secrets(self) -> Self:
        if not self.debug:
            if len(self.secret_key) < 50:
                raise ValueError("KSCHED_SECRET_KEY: needs at least 50 characters unless KSCHED_DEBUG is on")
            if any(word in self.secret_key.lower() for word in WEAK_SECRETS):
                raise ValueError("KSCHED_SECRET_KEY: is a value from an example; make one of your own")
            if len(set(self.secret_key)) < 8:
                raise ValueError("KSCHED_SECRET_KEY: is made of too few different characters; make it at random")
            for name, url in (("DATABASE_URL", self.database_url), ("REDIS_URL", self.redis_url)):
                if _password(url).lower() in DEFAULT_PASSWORDS:
                    raise ValueError(f"{name}: has a default password; give that server one of its own")
            if "*" in self.allowed_hosts:
                raise ValueError("KSCHED_ALLOWED_HOSTS: '*' is refused unless KSCHED_DEBUG is on; name the hosts")
        return self

    @model_validator(mode="after")
    def _tls(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("KSCHED_TLS_CERT and KSCHED_TLS_KEY: both are needed, or neither")
        for name, path in (("KSCHED_TLS_CERT", self.tls_cert), ("KSCHED_TLS_KEY", self.tls_key)):
            if path is not None and not path.is_file():
                raise ValueError(f"{name}: there is no file {path}")
        return self

    @model_validator(mode="after")
    def _leases(self) -> Self:
        # The elector checks the same; there it would end a worker only once it begins to elect.
        if self.lease_duration_seconds <= self.renew_deadline_seconds:
            raise ValueError("KSCHED_LEASE_DURATION_SECONDS: must be greater than KSCHED_RENEW_DEADLINE_SECONDS")
        if self.renew_deadline_seconds <= LEASE_JITTER * self.retry_period_seconds:
            raise ValueError(
                f"KSCHED_RENEW_DEADLINE_SECONDS: must be greater than {LEASE_JITTER} times KSCHED_RETRY_PERIOD_SECONDS"
            )
        return self

    @property
    def secure(self) -> bool:
        """Whether browsers reach the service over https."""
        return not self.debug if self.https is None else self.https

    def signing_key(self) -> str:
        """The secret key; while debugging without one, a new one for each process."""
        return self.secret_key or secrets.token_urlsafe(48)


def load() -> Environment:
    """The environment, or EnvironmentProblem with a line for each variable that is wrong."""
    try:
        return Environment()
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            name = _variable(problem["loc"])
            text = "is not set" if problem["type"] == "missing" else problem["msg"].removeprefix("Value error, ")
            lines.append(f"{name}: {text}" if name else text)
        raise EnvironmentProblem("\n".join(lines)) from None


def variables() -> list[str]:
    """The names of all variables read here."""
    return [_variable((name,)) for name in Environment.model_fields]


def database_settings(url: str) -> dict[str, Any]:
    """Django's settings of the database that a URL names; ValueError says what is wrong with it."""
    options = _connection_options(url)
    name = options.pop("dbname", "")
    if not name:
        raise ValueError("names no database: postgresql://host/NAME")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "OPTIONS": options,
    }


def _connection_options(url: str) -> dict[str, str]:
    """The options of libpq that a URL sets, as libpq itself reads it."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("must begin with postgresql://")
    try:
        return {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items()}
    except ProgrammingError as problem:
        # libpq's other messages may quote the URL, and with it the password.
        what, _, option = str(problem).strip().partition(": ")
        if what == "invalid URI query parameter":
            raise ValueError(f"has an option that is not known: {option}") from None
        raise ValueError("cannot be read by libpq: postgresql://user:secret@host:port/name") from None


def _password(url: str) -> str:
    parts = urlsplit(url)
    return unquote(parts.password or "") or dict(parse_qsl(parts.query)).get("password", "")


def broker_url(redis_url: str) -> str:
    """The same server in Celery's words: a socket is redis+socket:///path there."""
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        if not parts.path:
            raise ValueError("names no socket: unix:///path")
        database = dict(parse_qsl(parts.query)).get("db", "0")
        return f"redis+socket://{parts.path}?virtual_host={database}"
    if parts.scheme in ("redis", "rediss"):
        if not parts.hostname:
            raise ValueError("names no host: redis://host:port/0")
        return redis_url
    raise ValueError("must begin with redis://, rediss:// or unix://")


def _variable(location: tuple[int | str, ...]) -> str:
    if not location:
        return ""
    name = str(location[0])
    field = Environment.model_fields.get(name)
    alias = field.validation_alias if field is not None else None
    if isinstance(alias, str):
        return alias
    return f"KSCHED_{name.upper()}" if field is not None else name
