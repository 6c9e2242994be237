"""docker-compose.yml says what the code reads: commands of ops/worker.py, variables of environment.py, both ways."""

import re
from typing import Any

import pytest
import yaml

from kschedweb import environment
from kschedweb.environment import ROOT
from kschedweb.ops import worker

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}
# Read by the service, not set there: each has a default which is right in a container.
LEFT_AT_DEFAULT = {"KSCHED_DEBUG", "KSCHED_TLS_CERT", "KSCHED_TLS_KEY", "KSCHED_WORKER_ID"}
# In a container they are others than for a process by itself.
OTHER_DEFAULTS = {"KSCHED_HTTPS", "KSCHED_LOG_FORMAT"}
# Set in .env for the image of PostgreSQL.
FOR_OTHERS = {"POSTGRES_PASSWORD"}


def test_services_are_one_of_each_process() -> None:
    kinds = {"beat" if kind == "beat" else f"worker-{kind}" for kind in worker.KINDS}
    plain = {name for name, service in COMPOSE["services"].items() if "profiles" not in service}
    assert plain == {"postgres", "valkey", "migrations", "web", *kinds}
    assert set(COMPOSE["services"]) - plain == {"prometheus", "grafana"}


@pytest.mark.parametrize("kind", worker.KINDS)
def test_worker_runs_the_command_of_its_kind(kind: str) -> None:
    name = "beat" if kind == "beat" else f"worker-{kind}"
    assert OURS[name]["command"] == ["python", "-m", "kschedweb.ops.worker", kind]


def test_web_runs_the_module_that_is_there() -> None:
    assert OURS["web"]["command"] == ["python", "-m", "kschedweb.ops.web"]
    assert (ROOT / "kschedweb" / "ops" / "web.py").exists()


@pytest.mark.parametrize("name", OURS)
def test_service_sets_only_variables_that_are_read(name: str) -> None:
    assert set(OURS[name]["environment"]) - set(environment.variables()) == set()


def test_every_variable_that_is_read_is_set_or_right_by_default() -> None:
    set_somewhere = {variable for service in OURS.values() for variable in service["environment"]}
    assert set(environment.variables()) - set_somewhere == LEFT_AT_DEFAULT


def test_defaults_are_those_of_the_code() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    written = dict(re.findall(r"\$\{(KSCHED_\w+):-([^}]*)\}", text))
    for variable in set(written) - OTHER_DEFAULTS:
        default = environment.Environment.model_fields[variable.removeprefix("KSCHED_").lower()].default
        expected = ",".join(default) if isinstance(default, list | dict) else default
        assert type(expected)(written[variable]) == expected, variable


def test_stop_leaves_time_for_a_step_to_end() -> None:
    for service in OURS.values():
        assert (
            int(service["stop_grace_period"].removesuffix("s"))
            > environment.Environment.model_fields["renew_deadline_seconds"].default
        )


def test_variables_taken_from_outside_are_known() -> None:
    taken = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert taken - set(environment.variables()) == FOR_OTHERS


@pytest.mark.parametrize("name", OURS)
def test_environment_of_the_service_is_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = {"KSCHED_SECRET_KEY": "0123456789abcdef" * 4, "POSTGRES_PASSWORD": "p"}
    for variable in environment.variables():
        monkeypatch.delenv(variable, raising=False)
    for variable, value in OURS[name]["environment"].items():
        monkeypatch.setenv(variable, _filled_in(str(value), outside))
    found = environment.load()
    assert environment.database_settings(found.database_url)["HOST"] == "postgres"
    assert found.secure


def test_every_service_of_ours_waits_for_the_migrations() -> None:
    waiting = {name for name, service in OURS.items() if "migrations" in service["depends_on"]}
    assert waiting == set(OURS) - {"migrations"}


def test_images_are_the_ones_the_service_is_made_for() -> None:
    services = COMPOSE["services"]
    assert (services["postgres"]["image"], services["valkey"]["image"]) == ("postgres:18", "valkey/valkey:9")


def test_every_variable_is_documented() -> None:
    assert environment.__doc__ is not None
    documented = set(re.findall(r"^\| (\w+)", environment.__doc__, flags=re.MULTILINE)) - {"variable"}
    assert documented == set(environment.variables())


def _filled_in(value: str, outside: dict[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":-")
        return outside.get(name.partition(":?")[0], default)

    return re.sub(r"\$\{([^}]*)\}", fill, value)
