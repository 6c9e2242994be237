"""Runs pytest many times without loading pytest, numpy and Django each time: `python -m tests.mutation.server`.

A line of JSON on standard input asks for a run: `words` for pytest, the `environment`, the file for its `output`. The
answer is the id of a process of its own, forked from this one; a second line gives its exit code once it has ended.
Nothing of the project is loaded here, so every run loads it as its files are then.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module

NICE = 4
# What nearly every run loads, and is not ours.
LOADED = (
    "pytest", "_pytest.assertion.rewrite", "pytest_django.plugin", "pytest_asyncio.plugin", "_hypothesis_pytestplugin",
    "hypothesis.stateful", "hypothesis.strategies", "numpy", "msgspec", "orjson", "zstandard", "yaml", "structlog",
    "django.db.models", "django.contrib.auth.hashers", "django.db.backends.postgresql.base", "django.test",
    "channels.testing", "celery",
    "redis", "psycopg", "prometheus_client", "pydantic_settings", "unfold",
)  # fmt: skip
# Of all installed plugins these; the others take seconds to load.
PLUGINS = ("pytest_django.plugin", "pytest_asyncio.plugin", "_hypothesis_pytestplugin")


def main() -> None:
    """Answer until standard input ends."""
    os.nice(NICE)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = False  # whatever the environment says: every run loads the same files
    for name in LOADED:
        try:
            import_module(name)
        except Exception as error:  # it is loaded for speed alone
            print(f"{name} is not loaded beforehand: {error!r}", file=sys.stderr)
    gc.freeze()
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if not pid:
            _run(wanted["words"], wanted["environment"], wanted["output"])
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(words: list[str], environment: dict[str, str], output: str) -> None:
    code = 3
    try:
        os.setsid()
        # Each engine of the service that is made collects garbage; all that tests and pytest keep is not visited again.
        gc.unfreeze = lambda: None
        os.environ.update(environment)
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, 1)
        os.dup2(target, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        pytest = import_module("pytest")
        code = int(pytest.main([*(word for name in PLUGINS for word in ("-p", name)), *words]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
