"""A plugin of pytest: which tests failed, with their output, as JSON for the command (`--failed-to FILE`).

With pytest-xdist the process that hands out the tests hears of all of them, and writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# Tests with this marker run a service, processes or threads: how the machine deals out its time can fail them.
MARKER = "service"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-to", metavar="FILE", help="where to name the tests that failed")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--failed-to")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(file)))


class _Writer:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._failed: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._add(report, MARKER in report.keywords)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._add(report, False)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps([{"name": name, **facts} for name, facts in self._failed.items()]))

    def _add(self, report: pytest.TestReport | pytest.CollectReport, may_pass: bool) -> None:
        sections = "".join(f"\n--- {title}\n{text}" for title, text in report.sections)
        earlier = self._failed.get(report.nodeid, {"text": ""})["text"]
        self._failed[report.nodeid] = {"text": f"{earlier}{report.longreprtext}{sections}\n", "may_pass": may_pass}
