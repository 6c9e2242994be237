"""Lines of the log: as text and as JSON, with what they are about."""

import logging
from typing import Any

import orjson
import pytest
import structlog

from kschedweb.common import logs


def event(**fields: Any) -> dict[str, Any]:
    record = logging.LogRecord("name", logging.INFO, "/src/slices.py", 42, "", None, None)
    record.created = 1_763_681_912.123456  # 20 November 2025, 23:38:32 UTC
    return {"level": "info", "logger": "name", "_record": record, "_from_structlog": True, **fields}


@pytest.mark.parametrize(
    ("level", "letter"), [("info", "I"), ("debug", "I"), ("warning", "W"), ("error", "E"), ("critical", "F")]
)
def test_text_begins_with_severity_time_and_place(level: str, letter: str) -> None:
    line = logs.klog(None, "", event(event="Message", pod="ns/name", node="n1") | {"level": level})
    head, _, rest = line.partition("] ")
    assert head.startswith(f"{letter}1120 23:38:32.123456 ") and head.endswith(" slices.py:42")
    assert rest == '"Message" pod="ns/name" node="n1"'


def test_text_shows_what_it_is_about_first_and_quotes() -> None:
    line = logs.klog(None, "", event(event='a "word"', seconds=1.5, attempt=3, v=2, cluster=7, err="two\nlines"))
    assert line.partition("] ")[2] == r'"a \"word\"" cluster=7 attempt=3 seconds=1.5 err="two\nlines"'


def test_json_has_milliseconds_verbosity_and_fields() -> None:
    line = orjson.loads(logs.json_line(None, "", event(event="Message", pod="ns/name", v=3, cluster=7)))
    assert line == {
        "ts": 1763681912123.456, "caller": "slices.py:42", "level": "info", "v": 3, "msg": "Message", "cluster": 7,
        "pod": "ns/name",
    }  # fmt: skip


def test_json_of_an_error_has_no_verbosity_and_its_traceback() -> None:
    given = event(event="Error", err="odd", exception="Traceback …") | {"level": "error"}
    line = orjson.loads(logs.json_line(None, "", given))
    assert "v" not in line
    assert (line["err"], line["stack"]) == ("odd", "Traceback …")


def test_lines_of_libraries_carry_the_cluster_that_is_worked_on(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler()
    configured = logging.getLogger().handlers
    formatter = next(
        each.formatter for each in configured if isinstance(each.formatter, structlog.stdlib.ProcessorFormatter)
    )
    handler.setFormatter(formatter)
    logger = logging.getLogger("somebody.else")
    logger.addHandler(handler)
    try:
        with structlog.contextvars.bound_contextvars(cluster=7):
            logger.warning("odd")
    finally:
        logger.removeHandler(handler)
    assert '"odd" cluster=7' in capsys.readouterr().err


@pytest.mark.parametrize(("asked", "shown"), [(0, [0]), (2, [0, 2]), (10, [0, 2, 4, 10])])
def test_information_is_shown_up_to_the_verbosity_asked_for(asked: int, shown: list[int], settings: Any) -> None:
    settings.LOG_VERBOSITY = asked
    assert [verbosity for verbosity in (0, 2, 4, 10) if logs.is_shown(verbosity)] == shown
