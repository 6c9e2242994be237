"""Configurations are checked by building a scheduler, which takes long: the answer for a text is kept."""

from typing import Any

import pytest

from kschedweb.cluster import configuration
from kschedweb.cluster.configuration import effective
from scheduler_core.lru import LruDict

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
TEXTS = [f"{HEAD}profiles: [{{schedulerName: s{number}}}]" for number in range(3)]
EXTENDER = f"{HEAD}extenders: [{{urlPrefix: 'http://extender.example', filterVerb: f}}]"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the profiles of every scheduler built, with room for the answers of two texts."""
    names: list[str] = []
    build = configuration.build

    def noted(loaded: Any, **given: Any) -> Any:
        names.append(loaded.profiles[0].scheduler_name)
        return build(loaded, **given)

    monkeypatch.setattr(configuration, "build", noted)
    monkeypatch.setattr(configuration, "_known", LruDict(2))
    return names


def test_answer_is_kept_for_the_texts_used_last(built: list[str]) -> None:
    for number in (0, 1, 0, 2, 0, 1):
        assert effective(TEXTS[number]).profiles[0].scheduler_name == f"s{number}"
    assert built == ["s0", "s1", "s2", "s1"]


def test_configuration_with_extenders_is_checked_each_time(built: list[str]) -> None:
    assert effective(EXTENDER) == effective(EXTENDER)
    assert len(built) == 2
