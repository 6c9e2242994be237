"""What Prometheus and Grafana are given fits what the service says: names of metrics, labels, addresses, files."""

import json
import re
from typing import Any

import yaml

from kschedweb.common.metrics.catalog import CATALOG
from kschedweb.environment import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "kschedweb.json").read_text())
METRIC = re.compile(r"\b((?:scheduler|ksched|leader_election|kubernetes)_\w+)")
SUFFIXES = ("_bucket", "_sum", "_count")


def known(name: str) -> bool:
    """Whether the service has that series."""
    if name in CATALOG:
        return CATALOG[name].kind != "histogram"
    return any(CATALOG.get(name.removesuffix(suffix)) is not None for suffix in SUFFIXES if name.endswith(suffix))


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    rules = yaml.safe_load((DEPLOY / "rules.yml").read_text())
    return panels + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def test_dashboard_and_rules_ask_for_metrics_there_are() -> None:
    asked = {name for text in expressions() for name in METRIC.findall(text)}
    assert len(asked) > 25
    assert sorted(name for name in asked if not known(name)) == []


def test_labels_asked_for_are_those_of_the_metric() -> None:
    for text in expressions():
        for name, selector in re.findall(r"(\w+)\{([^}]*)\}", text):
            base = name if name in CATALOG else re.sub(r"_(bucket|sum|count)$", "", name)
            labels = set(re.findall(r"(\w+)=", selector)) - {"cluster", "job"}
            assert labels <= set(CATALOG[base].labels), text


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


def test_prometheus_asks_where_the_service_answers() -> None:
    jobs = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    assert {job["metrics_path"] for job in jobs} == {"/metrics", "/metrics/slis", "/metrics/resources"}
    assert {target for job in jobs for each in job["static_configs"] for target in each["targets"]} == {"web:8480"}


def test_files_the_containers_are_given_exist() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in ("prometheus", "grafana"):
        for volume in services[name]["volumes"]:
            path = volume.partition(":")[0]
            if path.startswith("./") and not path.endswith("-token"):
                assert (ROOT / path).exists(), path
