"""A pytest plugin that records which test runs which line: `-p tests.mutation.traced`, once for a group of tests.

Lines run while a fixture of a module or wider is made count for every test of that module; lines run while modules
are imported count for none, see `mapping.py`. The file named by KSCHED_MUTATION_TRACE is made at the end, as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

PACKAGES = ("scheduler_core", "kschedweb")

_coverage = coverage.Coverage(data_file=None, source=list(PACKAGES), branch=False, messages=False)
_seconds: dict[str, float] = {}
_failed: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    _coverage.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _coverage.switch_context(item.nodeid)
    try:
        return (yield)  # type: ignore[return-value]
    finally:
        _coverage.switch_context("")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    if fixturedef.scope == "function":
        return (yield)
    item = request.session.items[0] if not hasattr(request.node, "nodeid") else request.node
    _coverage.switch_context(f"{item.nodeid.partition('::')[0]}::")
    try:
        return (yield)
    finally:
        current = os.environ.get("PYTEST_CURRENT_TEST", "")
        _coverage.switch_context(current.rpartition(" ")[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _coverage.stop()
    data = _coverage.get_data()
    root = session.config.rootpath
    lines = {
        str(Path(path).relative_to(root)): {
            line: sorted(contexts) for line, contexts in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    names = sorted({name for by_line in lines.values() for contexts in by_line.values() for name in contexts} - {""})
    number = {name: index for index, name in enumerate(names)}
    trace = {
        "tests": names,
        "seconds": _seconds,
        "failed": sorted(_failed),
        "lines": {
            path: {line: [number[name] for name in contexts if name] for line, contexts in by_line.items()}
            for path, by_line in sorted(lines.items())
        },
    }
    Path(os.environ["KSCHED_MUTATION_TRACE"]).write_text(json.dumps(trace))
