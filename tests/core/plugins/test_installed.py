"""Plugins of installed packages: found by entry point, loaded when a profile names them, refused with their name."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uv

from scheduler_core import config
from scheduler_core.api import manifests
from scheduler_core.build import build
from scheduler_core.errors import ConfigError
from scheduler_core.model.changes import ObjectPut
from scheduler_core.model.effects import Attempt
from scheduler_core.plugins.registry import installed
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from tests.builders import make_node, make_pod
from tests.cases import cases

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "plugin"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PASSING = (
    "class {name}:\n    name = '{name}'\n    def __init__(self, args, handle): {init}\n    def filter(self, *_): ...\n"
)


def enabled(*names: str, args: dict[str, Any] | None = None) -> Any:
    plugins = {"multiPoint": {"enabled": [{"name": name} for name in names]}}
    given = [{"name": name, "args": args} for name in names] if args is not None else []
    return config.load({**HEAD, "profiles": [{"plugins": plugins, "pluginConfig": given}]})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Put a package with these modules and entry points where Python looks for packages."""
    before = set(sys.modules)

    def make(points: dict[str, str], **modules: str) -> None:
        name = f"outside{len(list(tmp_path.iterdir()))}"
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{plugin} = {value}" for plugin, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[scheduler_core.plugins]", *lines, ""]))
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(str(folder))

    yield make
    for module in set(sys.modules) - before:
        del sys.modules[module]


def schedule(scheduler: Scheduler, *objects: Any, cycles: int = 20) -> dict[str, Attempt]:
    """Attempts by pod name, pods bound as they are decided."""
    changes = [ObjectPut(manifests.decode(each)) for each in objects]
    effects = scheduler.step(1_900_000_000_000_000, changes, Budget(max_cycles=cycles))
    return {attempt.pod_key.partition("/")[2]: attempt for attempt in effects.attempts}


def test_plugins_are_offered_in_order_of_their_names(package: Any) -> None:
    package({"Zebra": "zoo:Zebra", "Ape": "zoo:Ape"})
    package({"Mole": "zoo:Mole"})
    assert [plugin.point.name for plugin in installed()] == ["Ape", "Mole", "Zebra"]


def test_code_is_not_imported_when_no_profile_names_the_plugin(package: Any) -> None:
    package({"Broken": "broken_module:Broken"}, broken_module="raise RuntimeError('imported')")
    assert build(draws=FirstDraws()).engine.frameworks["default-scheduler"].replayable


@cases(
    "offered",
    ("named as one in tree", [{"NodeAffinity": "mine:NodeAffinity"}]),
    ("offered by two packages", [{"NodeAffinity2": "a:A"}, {"NodeAffinity2": "b:A"}]),
)
def test_second_plugin_of_a_name_is_refused_whatever_the_profile(package: Any, offered: list[dict[str, str]]) -> None:
    for points in offered:
        package(points)
    name = next(iter(offered[-1]))
    with pytest.raises(ConfigError, match=f"^a plugin named {name} already exists$"):
        build(draws=FirstDraws())


@cases(
    "module, text",
    ("import", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("no such name", "Other = 1", "AttributeError: module 'light' has no attribute 'Light'"),
    ("constructor", PASSING.format(name="Light", init="args['colour']"), "KeyError: 'colour'"),
    ("another name", PASSING.format(name="Lamp", init="pass").replace("class Lamp", "class Light"),
     "the plugin calls itself 'Lamp', expected 'Light'"),
)  # fmt: skip
def test_plugin_that_cannot_be_made_is_named_with_its_entry_point(package: Any, module: str, text: str) -> None:
    package({"Light": "light:Light"}, light=module)
    with pytest.raises(ConfigError) as caught:
        build(enabled("Light", args={}), draws=FirstDraws())
    assert f"entry point Light = light:Light of package outside0: {text}" in str(caught.value)


def test_args_come_as_they_were_written(package: Any) -> None:
    package({"Light": "light:Light"}, light=PASSING.format(name="Light", init="self.args = args"))
    args = {"colour": "amber", "steps": [1, {"deep": None}]}
    framework = build(enabled("Light", args=args), draws=FirstDraws()).engine.frameworks["default-scheduler"]
    assert framework.instances["Light"].args == args  # type: ignore[attr-defined]


@cases(
    "line, want",
    ("not declared", "", ("Light",)),
    ("declared", "    deterministic = True\n", ()),
    ("something else", "    deterministic = 1\n", ("Light",)),
)
def test_profile_is_replayable_only_when_its_plugins_say_so(package: Any, line: str, want: tuple[str, ...]) -> None:
    package({"Light": "light:Light"}, light=PASSING.format(name="Light", init="pass") + line)
    framework = build(enabled("Light"), draws=FirstDraws()).engine.frameworks["default-scheduler"]
    assert (framework.not_deterministic, framework.replayable) == (want, not want)


# The package of examples/plugin, installed as users do it


@pytest.fixture(scope="module")
def rack_aware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rack-aware")
    words = ["pip", "install", "--offline", "--no-deps", "--python", sys.executable, "--target", str(folder / "lib")]
    subprocess.run(
        [uv.find_uv_bin(), *words, "--cache-dir", str(folder / "cache"), str(EXAMPLE)],
        check=True,
        capture_output=True,
        text=True,
    )
    return folder / "lib"


@pytest.fixture
def rack_profile(rack_aware: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(rack_aware))
    return config.load((EXAMPLE / "scheduler-config.yaml").read_text())


def _racks() -> list[Any]:
    nodes = [make_node(f"n{index}").capacity(cpu="8", memory="8Gi", pods="110") for index in range(5)]
    for index, node in enumerate(nodes[:4]):
        node.label({"example.com/rack": f"r{index // 2}"})
    return [node.manifest() for node in nodes]


def _copy(index: int, app: str = "shop") -> Any:
    return make_pod(f"{app}-{index}").label(app=app).req(cpu="100m").manifest()


@pytest.mark.parametrize("use_table", [True, False], ids=["table form", "node form"])
def test_installed_example_spreads_over_racks_until_they_are_full(rack_profile: Any, use_table: bool) -> None:
    scheduler = build(rack_profile, draws=FirstDraws(), use_table=use_table)
    attempts = schedule(scheduler, *_racks(), *(_copy(index) for index in range(5)))
    racks = {"n0": "r0", "n1": "r0", "n2": "r1", "n3": "r1"}
    placed = [racks[attempts[f"shop-{index}"].node_name] for index in range(4)]
    assert sorted(placed[:2]) == sorted(placed[2:]) == ["r0", "r1"]
    refused = attempts["shop-4"]
    assert refused.result == "unschedulable"
    assert "1 node(s) were in no rack, 4 node(s) were in a rack with enough copies of the app." in refused.message


def test_installed_example_is_replayable_and_weighs_as_configured(rack_profile: Any) -> None:
    framework = build(rack_profile, draws=FirstDraws()).engine.frameworks["default-scheduler"]
    assert framework.replayable
    assert framework.weights["RackAware"] == 5


def test_installed_example_lets_pods_without_an_app_be(rack_profile: Any) -> None:
    scheduler = build(rack_profile, draws=FirstDraws())
    pods = [make_pod(f"p{index}").req(cpu="100m").manifest() for index in range(6)]
    assert {attempt.result for attempt in schedule(scheduler, *_racks(), *pods).values()} == {"scheduled"}


def test_installed_example_tries_again_when_a_node_comes_into_a_rack(rack_profile: Any) -> None:
    scheduler = build(rack_profile, draws=FirstDraws())
    schedule(scheduler, *_racks(), *(_copy(index) for index in range(5)))
    waiting = scheduler.engine.queue.sizes()
    plain = make_node("n4").capacity(cpu="8", memory="8Gi", pods="110")
    effects = scheduler.step(
        1_900_000_001_000_000, [ObjectPut(manifests.decode(plain.label(x="y").manifest()))], Budget(5)
    )
    assert effects.attempts == [] and scheduler.engine.queue.sizes() == waiting  # still in no rack
    labelled = plain.label({"example.com/rack": "r2"}).manifest()
    effects = scheduler.step(1_900_000_030_000_000, [ObjectPut(manifests.decode(labelled))], Budget(max_cycles=5))
    assert [(attempt.pod_key, attempt.node_name) for attempt in effects.attempts] == [("default/shop-4", "n4")]


def test_installed_example_refuses_args_it_does_not_know(rack_profile: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build(enabled("RackAware", args={"maxPerRack": 0, "racks": []}), draws=FirstDraws())
    assert "unknown field 'racks', maxPerRack: expected a whole number of at least 1" in str(caught.value)


def test_smallest_plugin_of_the_documentation_runs_in_both_forms() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "plugins.md").read_text(), flags=re.DOTALL)
    names = ("answers", "reuse")
    modules = (*(f"scheduler_core.framework.{name}" for name in names), "scheduler_core.model.events")
    imports = "import numpy as np\n" + "".join(f"from {module} import *\n" for module in modules)
    methods = "".join(f"    {line}\n" for block in (blocks[1], blocks[2]) for line in block.splitlines())
    scope: dict[str, Any] = {}
    exec(imports + blocks[0] + methods, scope)
    dark = make_node("dark").capacity(cpu="8", memory="8Gi", pods="110").label(light="amber").manifest()
    clear = make_node("clear").capacity(cpu="4", memory="4Gi", pods="110").manifest()
    for use_table in (True, False):
        scheduler = build(enabled("BlinkingLight", args={"colour": "amber"}), draws=FirstDraws(), use_table=use_table,
                          registry={"BlinkingLight": scope["BlinkingLight"]})  # fmt: skip
        (attempt,) = schedule(scheduler, dark, clear, make_pod("p").req(cpu="1").manifest()).values()
        assert attempt.node_name == "clear"
        assert attempt.feasible is not None and len(attempt.feasible) == 1
