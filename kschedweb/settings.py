"""Django's settings. Everything that differs between places comes from the environment (see environment.py).

A process which cannot use its environment ends here with the reason, before anything else is started.
"""

import sys
from typing import Any

import structlog

from kschedweb import environment
from kschedweb.common import logs, redaction

try:
    ENVIRONMENT = environment.load()
except environment.EnvironmentProblem as problem:
    sys.exit(f"kschedweb cannot start, the environment is not usable:\n{problem}")

BASE_DIR = environment.ROOT
DATA_DIR = ENVIRONMENT.data_dir

DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.signing_key()
ALLOWED_HOSTS = [*ENVIRONMENT.allowed_hosts, "127.0.0.1", "localhost", "[::1]"]  # probes and ./ksched use the latter
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.trusted_origins

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "kschedweb.accounts.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "kschedweb.common",
    "kschedweb.live",
    "kschedweb.accounts",
    "kschedweb.cluster",
    "kschedweb.traces",
    "kschedweb.scheduling",
    "kschedweb.lifecycle",
    "kschedweb.mirror",
]

MIDDLEWARE = [
    "kschedweb.common.connections.connections_given_back",
    "kschedweb.common.rendering.rendered_only",
    "django.middleware.security.SecurityMiddleware",
    "kschedweb.common.headers.security_headers",
    "kschedweb.common.compression.compression",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "kschedweb.common.addresses.AddressMiddleware",
]

CSRF_FAILURE_VIEW = "kschedweb.common.pages.csrf_failed"
ROOT_URLCONF = "kschedweb.urls"
ASGI_APPLICATION = "kschedweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# A pool suits the web process, whose threads come and go (Django then wants CONN_MAX_AGE 0). Workers and commands
# keep one connection; it is made after Celery's fork, by the first query.
DATABASES: dict[str, dict[str, Any]] = {"default": environment.database_settings(ENVIRONMENT.database_url)}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if ENVIRONMENT.database_pool:
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": ENVIRONMENT.database_pool, "timeout": 10}
else:
    DATABASES["default"]["CONN_MAX_AGE"] = None
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = ENVIRONMENT.redis_url
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "ksched",
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }
}

# The first is the one for new hashes; a login with the hash of another stores it anew.
PASSWORD_HASHERS = ["kschedweb.accounts.hashers.Argon2", "kschedweb.accounts.hashers.Pbkdf2"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
EXTENDER_HOSTS = ENVIRONMENT.extender_hosts
# What gives a cluster the history of an uploaded file.
HISTORY_TAKER = "kschedweb.scheduling.past.opening.take"
FEATURE_GATES = ENVIRONMENT.feature_gates
ADMISSION_PLUGINS = frozenset(ENVIRONMENT.admission_plugins)
# For each address and name, and for each address.
LOGIN_TRIES_PER_WINDOW, LOGIN_TRIES_PER_ADDRESS, LOGIN_WINDOW_SECONDS = 10, 50, 300
PROXIES = ENVIRONMENT.proxies
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
SESSION_ENGINE = "kschedweb.accounts.sessions"
SESSION_COOKIE_NAME = "ksched_session"
CSRF_COOKIE_NAME = "ksched_csrf"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = ENVIRONMENT.secure
# Probes and Prometheus come from beside the process, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^(healthz|livez|readyz)(/[\w-]+)?$", r"^metrics(/\w+)?$"]
if ENVIRONMENT.secure:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist"] if (BASE_DIR / "frontend" / "dist").is_dir() else []
# Files are found in the packages themselves when the process starts: there is no collecting step to forget.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"^.+-[0-9A-Za-z_-]{8}\.\w+$"  # the names Vite gives

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kschedweb.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["kschedweb.accounts.permissions.Access"],
    "DEFAULT_RENDERER_CLASSES": ["kschedweb.common.rendering.MsgspecRenderer"],
    # No forms: an empty field of a form counts as one that is not there.
    "DEFAULT_PARSER_CLASSES": ["kschedweb.common.parsing.OrjsonParser"],
    # For each user; 0 means no limit.
    "DEFAULT_THROTTLE_RATES": {
        "imports": f"{ENVIRONMENT.imports_per_minute}/minute",
        "objects": f"{ENVIRONMENT.object_posts_per_minute}/minute",
    },
    "EXCEPTION_HANDLER": "kschedweb.common.refusals.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "kschedweb.rest.openapi.Operation",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "kschedweb",
    "DESCRIPTION": "A kube-scheduler that keeps every decision.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "DEFAULT_GENERATOR_CLASS": "kschedweb.rest.openapi.Generator",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kschedweb.rest.openapi.add_refusals",
        "kschedweb.rest.openapi.add_views",
    ],
    # Its scripts are served from here, not from somebody's network.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

UNFOLD = {"SITE_TITLE": "kschedweb", "SITE_HEADER": "kschedweb"}

_shared_processors: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.format_exc_info,
]
LOG_VERBOSITY = ENVIRONMENT.log_verbosity
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structlog": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [redaction.redact, logs.json_line if ENVIRONMENT.log_format == "json" else logs.klog],
            "foreign_pre_chain": _shared_processors,
        },
    },
    "filters": {"refusals": {"()": "kschedweb.common.logs.Refusals"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structlog", "filters": ["refusals"]}},
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level},
    "loggers": {
        "django": {"level": ENVIRONMENT.log_level},
        "django.server": {"handlers": [], "propagate": True},
        "uvicorn.error": {"level": "WARNING"},  # below it stands a line for each WebSocket
        # One line for each task says nothing at 20 slices a second.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_shared_processors,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)
