"""The judge sees each kind of harm, and none where there is none."""

import json
from dataclasses import replace
from typing import Any

from tests.attack.judgement import Asked, Seen, lines_between, problems
from tests.cases import cases

QUIET = Seen(ready=[Asked(1.0, 200, 0.01)], read=[Asked(1.0, 200, 0.02)], peaks={"web/1": 200_000_000})
REFUSED = "W1122 07:30:13.418460   14252 log.py:248] refused\n"
FAILED = "E1122 07:30:13.418460   14252 log.py:248] failed\n"


def judged(seen: Seen = QUIET, **given: Any) -> list[str]:
    calm: dict[str, Any] = {"told": {200: 3, 404: 1}, "refusals": 1, "logs": {"web": REFUSED}, "ended": []}
    return problems(seen, **{**calm, "is_timed": True, **given})


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert judged() == []
    slow = replace(QUIET, ready=[Asked(1.0, 500, 0.1), Asked(1.2, 200, 1.8)])
    assert judged(slow, is_timed=False) == [], "the machine may be busy"


@cases(
    "seen, given, found",
    ("nobody looked", Seen(), {}, "saw nothing"),
    ("late", replace(QUIET, ready=[Asked(1.0, 200, 1.01)]), {}, "/readyz: 200 after"),
    ("not ready", replace(QUIET, ready=[Asked(1.0, 500, 0.1)]), {}, "/readyz: 500"),
    ("no answer", replace(QUIET, ready=[Asked(1.0, 0, 60.0)]), {"is_timed": False}, "/readyz: 0"),
    ("an innocent is refused", replace(QUIET, read=[Asked(1.0, 429, 0.1)]), {}, "innocent's read: 429"),
    ("an innocent is not heard", replace(QUIET, read=[Asked(1.0, 0, 30.0)]), {}, "innocent's read: 0"),
    ("memory", replace(QUIET, peaks={"web/1": 600_000_000}), {}, "web/1 took 600 MB"),
    ("a 5xx", QUIET, {"told": {200: 3, 404: 1, 503: 2}}, "2 answers with 503"),
    ("a process ends", QUIET, {"ended": ["web"]}, "web has ended"),
    ("a refusal is not logged", QUIET, {"logs": {"web": ""}}, "1 refusals are 0 lines"),
    ("a refusal is logged twice", QUIET, {"logs": {"web": 2 * REFUSED}}, "1 refusals are 2 lines"),
    ("an error", QUIET, {"logs": {"web": REFUSED, "binding": FAILED}}, "log of binding: E1122"),
    ("a traceback", QUIET, {"logs": {"web": REFUSED + "Traceback (most"}}, "log of web: Trace"),
)
def test_harm_is_found(seen: Seen, given: dict[str, Any], found: str) -> None:
    (problem,) = judged(seen, **given)
    assert found in problem


def test_lines_of_the_observer_are_those_of_a_span_of_time() -> None:
    asked = {"kind": "ready", "status": 200, "seconds": 0.1}
    sizes = [{"web/1": {"rss": 1, "peak": peak, "own": 1}} for peak in (30, 20)]
    lines = [json.dumps({**asked, "at": float(at)}) + "\n" for at in range(5)]
    lines += [json.dumps({"kind": "memory", "at": 2.5, "processes": each}) + "\n" for each in sizes]
    seen = lines_between([*lines, '{"kind": "rea'], 1.0, 3.0)
    assert [one.at for one in seen.ready] == [1.0, 2.0]
    assert seen.read == [] and seen.peaks == {"web/1": 30}
