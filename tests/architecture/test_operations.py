"""docs/operations.md says what is there: settings, alerts, commands, processes."""

import argparse
import re

import pytest
import yaml

from kschedweb import environment
from kschedweb.environment import ROOT
from tools import cli, settings_table

PAGE = (ROOT / "docs" / "operations.md").read_text()
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
# Handed from one process to another.
NOBODY_SETS = {"KSCHED_TEST_RUN_DIR"}
RULES = yaml.safe_load((ROOT / "deploy" / "rules.yml").read_text())


def test_table_of_settings_is_fresh_and_complete() -> None:
    assert settings_table.render() == PAGE
    assert {name.removesuffix(" *") for name, _, _ in settings_table.rows()} == set(environment.variables())
    assert all(f"| `{variable}`" in PAGE for variable in environment.variables())


def test_every_variable_of_the_code_is_told() -> None:
    places = [ROOT / "ksched", *sorted((ROOT / "kschedweb").rglob("*.py"))]
    read = {name for path in places for name in re.findall(r"\bKSCHED_[A-Z_]+\b", path.read_text())}
    assert len(read) > 20
    assert sorted(name for name in read - NOBODY_SETS if f"`{name}`" not in PAGE) == []


@pytest.mark.parametrize(
    ("variable", "default"), [(name.removesuffix(" *"), text) for name, text, _ in settings_table.rows()]
)
def test_default_told_is_the_one_there_is(variable: str, default: str) -> None:
    fields = environment.Environment.model_fields
    field = next(
        field for name, field in fields.items() if environment.variables()[list(fields).index(name)] == variable
    )
    if isinstance(field.default, bool):
        assert default == str(field.default).lower()
    elif isinstance(field.default, int | float):
        assert float(default) == field.default
    elif variable not in ("KSCHED_DATA_DIR", "KSCHED_WORKER_ID", "KSCHED_SECRET_KEY", "KSCHED_HTTPS"):
        expected = ",".join(field.default) if isinstance(field.default, list) else field.default
        assert default == (expected if isinstance(expected, str) else "")


def test_every_alert_has_its_line() -> None:
    alerts = {rule["alert"] for group in RULES["groups"] for rule in group["rules"]}
    assert set(re.findall(r"^\| `(Ksched\w+)`", PAGE, flags=re.MULTILINE)) == alerts


def test_commands_named_are_there() -> None:
    action = next(each for each in cli.parser()._actions if isinstance(each, argparse._SubParsersAction))
    assert set(re.findall(r"\./ksched (\w+)", PAGE)) <= set(action.choices)


def test_processes_named_are_those_of_compose() -> None:
    ours = {name for name, service in SERVICES.items() if "build" in service}
    stopped = re.findall(r"docker compose stop (.*?)[`\n]", PAGE)
    assert len(stopped) == 2 and {frozenset(line.split()) for line in stopped} == {frozenset(ours - {"migrations"})}
    assert set(re.findall(r"^\| `(web|beat|worker-\w+)` \|", PAGE, flags=re.MULTILINE)) == ours - {"migrations"}
