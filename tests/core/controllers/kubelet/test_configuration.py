"""KubeletConfiguration: thresholds, the defaults that one own threshold takes away, reservations, errors by field."""

from __future__ import annotations

import pytest

from scheduler_core.controllers.kubelet.configuration import read_config
from scheduler_core.errors import ConfigError
from tests.cases import cases

GI = 1024**3


def thresholds(own: str, common: str = "") -> dict[tuple[str, bool], str]:
    found = {}
    for one in read_config(own, common).thresholds:
        found[one.signal, one.is_hard] = str(one.value.quantity or one.value.part)
    return found


DEFAULTS = {
    ("memory.available", True): "100Mi",
    ("nodefs.available", True): "10%",
    ("nodefs.inodesFree", True): "5%",
    ("imagefs.available", True): "15%",
    ("imagefs.inodesFree", True): "5%",
}


def test_defaults_are_those_of_upstream() -> None:
    found = thresholds("")
    assert set(found) == set(DEFAULTS) and found["memory.available", True] == "100Mi"
    parts = {signal: one for (signal, _), one in found.items() if signal != "memory.available"}
    assert {signal: round(float(part), 6) for signal, part in parts.items()} == {
        "nodefs.available": 0.1,
        "nodefs.inodesFree": 0.05,
        "imagefs.available": 0.15,
        "imagefs.inodesFree": 0.05,
    }
    config = read_config()
    assert (config.transition_us, config.max_pod_grace_us, config.notices_memory) == (300_000_000, 0, False)


def test_one_own_hard_threshold_takes_all_defaults_away_unless_they_are_merged() -> None:
    own = "evictionHard: {memory.available: 500Mi}"
    assert thresholds(own) == {("memory.available", True): "500Mi"}
    merged = thresholds(own + "\nmergeDefaultEvictionSettings: true")
    assert set(merged) == set(DEFAULTS) and merged["memory.available", True] == "500Mi"


def test_soft_thresholds_leave_the_defaults_and_have_their_grace() -> None:
    config = read_config("evictionSoft: {memory.available: 1.5Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}")
    (soft,) = (one for one in config.thresholds if not one.is_hard)
    assert (soft.signal, soft.grace_us, len(config.thresholds)) == ("memory.available", 90_000_000, 6)


@pytest.mark.parametrize("text", ["0%", "100%"])
def test_percentage_that_says_nothing_switches_the_threshold_off(text: str) -> None:
    assert thresholds(f"evictionHard: {{nodefs.available: '{text}', pid.available: '10'}}") == {
        ("pid.available", True): "10"
    }


def test_own_configuration_goes_before_that_of_all_nodes_field_by_field() -> None:
    common = "kind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\nevictionPressureTransitionPeriod: 30s"
    config = read_config('{"evictionHard": {"memory.available": "2Gi"}}', common)
    assert [str(one.value.quantity) for one in config.thresholds] == ["2Gi"]
    assert config.transition_us == 30_000_000


def test_percentages_are_of_the_capacity_in_the_width_of_upstream() -> None:
    (threshold,) = read_config("evictionHard: {memory.available: 10%}").thresholds
    assert threshold.quantity(100 * GI).value() == int(100 * GI * 0.10000000149011612)


def test_memory_that_is_reserved_makes_a_threshold_of_what_is_left_for_pods() -> None:
    own = "evictionHard: {memory.available: 500Mi}\nsystemReserved: {memory: 1.5Gi, cpu: 500m}"
    config = read_config(own)
    assert [one.signal for one in config.thresholds] == ["memory.available", "allocatableMemory.available"]
    assert (config.reserved("memory"), config.says_reserved) == (3 * GI // 2, True)
    assert len(read_config(own + "\nenforceNodeAllocatable: [none]").thresholds) == 1


@cases(
    "own, problem",
    ("soft threshold without grace", "evictionSoft: {memory.available: 1Gi}",
     r"evictionSoftGracePeriod\[memory.available\]: grace period must be specified"),
    ("unknown signal", "evictionHard: {memory.free: 1Gi}",
     r"evictionHard\[memory.free\]: unsupported eviction signal memory.free"),
    ("negative quantity", "evictionHard: {memory.available: -1Gi}",
     r"evictionHard\[memory.available\]: .*must be positive: -1Gi"),
    ("zero quantity", "evictionHard: {memory.available: '0'}", "must be positive"),
    ("negative percentage", "evictionHard: {memory.available: '-5%'}", "must be >= 0%"),
    ("more than all", "evictionHard: {memory.available: '120%'}", "must be <= 100%"),
    ("no percentage", "evictionHard: {memory.available: some%}", "is no percentage"),
    ("negative grace", "evictionSoftGracePeriod: {memory.available: -5s}", "must be a positive value"),
    ("no duration", "evictionSoftGracePeriod: {memory.available: soon}", "invalid duration"),
    ("reclaim", "evictionMinimumReclaim: {memory.available: -5}", "negative eviction minimum"),
    ("reclaim of nothing", "evictionMinimumReclaim: {pid.available: 0%}", "must be positive: 0%"),
    ("a list", "evictionHard: [memory]", "evictionHard: expected an object"),
    ("a list as a value", "evictionHard: {memory.available: [1]}", "expected text"),
    ("what cannot be reserved", "systemReserved: {gpu: 1}", "cannot reserve 'gpu' resource"),
    ("negative reservation", "systemReserved: {memory: -1}", "cannot be negative"),
    ("grace that is no number", "evictionMaxPodGracePeriod: soon", "number of seconds"),
    ("flag that is none", "kernelMemcgNotification: 1", "true or false"),
    ("another kind", "kind: Pod", "expected KubeletConfiguration, got Pod"),
    ("another version", "apiVersion: kubelet.config.k8s.io/v1",
     'no kind "KubeletConfiguration" is registered for version "kubelet.config.k8s.io/v1" in scheme '),
    ("no object", "- 1", "expected an object"),
    ("too long", "x" * 30_000, "longer than"),
)  # fmt: skip
def test_problem_names_the_field(own: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_config(own)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config("evictionHard: {a: 1}\nevictionSoft: {b: 1}\nsystemReserved: {c: 1}")
    assert all(name in str(caught.value) for name in ("evictionHard[a]", "evictionSoft[b]", "systemReserved[c]"))
