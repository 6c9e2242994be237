"""The browser under load: how growth is judged, what a profile is added up to, who comes where. No browser."""

import json

import pytest

from tools.bench import arriving, browsing, dashboard


@pytest.mark.parametrize(
    ("course", "grown"),
    [
        pytest.param([10.0], 0.0, id="one look says nothing"),
        pytest.param([10.0, 12.0], 0.2, id="two looks"),
        pytest.param([10.0, 40.0, 18.0, 30.0, 12.0, 25.0, 10.0, 35.0, 24.0], 0.0, id="up and down"),
        pytest.param([10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0], 0.6, id="a steady rise"),
        pytest.param([10.0, 14.0, 11.0, 15.0, 12.0, 16.0, 13.0, 17.0], 0.3, id="a rise that goes up and down"),
        pytest.param([0.0, 1.0], 0.0, id="from nothing"),
    ],
)
def test_growth_is_of_the_least_of_the_last_third_over_that_of_the_first(course: list[float], grown: float) -> None:
    assert browsing.growth(course) == pytest.approx(grown)


def test_a_profile_is_added_up_by_function() -> None:
    def node(number: int, name: str, url: str) -> dict[str, object]:
        return {"id": number, "callFrame": {"functionName": name, "url": url, "lineNumber": 9, "columnNumber": 4}}

    paint = node(3, "paint", "http://127.0.0.1/static/assets/index-abc.js")
    nodes = [
        node(1, "(idle)", ""),
        node(2, "", "http://127.0.0.1/static/assets/index-abc.js"),
        paint,
        {**paint, "id": 4},
    ]
    profile = {"nodes": nodes, "samples": [1, 2, 3, 4], "timeDeltas": [500_000, 100_000, 150_000, 250_000]}
    found = dashboard.self_seconds(profile)
    assert found == pytest.approx({"(idle)": 0.5, "(anonymous) index-abc.js:10:5": 0.1, "paint index-abc.js:10:5": 0.4})
    assert browsing.most_time(found).splitlines() == [
        " 50.00%  (idle)",
        " 40.00%  paint index-abc.js:10:5",
        " 10.00%  (anonymous) index-abc.js:10:5",
    ]


def test_tasks_are_those_of_the_busiest_main_thread_of_a_page() -> None:
    def named(thread: int, name: str) -> dict[str, object]:
        return {"name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": {"name": name}}

    def task(thread: int, **more: object) -> dict[str, object]:
        return {"name": dashboard.TASK, "ph": "X", "pid": 1, "tid": thread, "dur": 90_000, **more}

    events = [
        named(1, "CrBrowserMain"), named(2, dashboard.MAIN_THREAD), named(3, dashboard.MAIN_THREAD),
        task(1, tdur=80_000), task(2, tdur=1_000), task(3, tdur=20_000), task(3), task(3, ph="B"),
        {**task(3, tdur=70_000), "name": "Receive mojo message"},
    ]  # fmt: skip
    assert dashboard.task_cpu_ms(json.dumps({"traceEvents": events}).encode()) == [20.0, 0.0]
    assert dashboard.task_cpu_ms(b'{"traceEvents": []}') == []


def test_a_namespace_is_used_again_only_after_its_pods_went() -> None:
    names = [each["metadata"]["name"] for each in arriving.namespaces()]
    assert len(set(names)) == len(names) == arriving.NAMESPACES
    assert arriving.NAMESPACES * arriving.INTERVAL_SECONDS > arriving.LIVES_SECONDS
