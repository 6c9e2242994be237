"""A cluster's scheduler configuration over REST: versions, what each comes to, and every problem of a refused one."""

from typing import Any

import orjson
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from kschedweb.cluster import configuration, services
from kschedweb.cluster.changes import unpack
from kschedweb.cluster.models import Change, Cluster, SchedulerConfigVersion
from kschedweb.common import wake
from kschedweb.scheduling.models import EngineState
from tests.cases import cases
from tests.web.rest import logged_in

pytestmark = pytest.mark.django_db

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
V1 = HEAD.splitlines()[0]
FORMER = HEAD.replace("/v1", "/v1beta3") + "profiles: [{schedulerName: older}]\n"
SMALL = HEAD + "podInitialBackoffSeconds: 2\nprofiles:\n- schedulerName: small\n  percentageOfNodesToScore: 40\n"


@pytest.fixture
def cluster() -> Cluster:
    return services.cluster_create(name="configured", actor="test")


def call(cluster: Cluster, content: str | bytes, method: str = "PUT", path: str = "") -> Any:
    body = content if isinstance(content, bytes) else content.encode()
    url = f"/api/clusters/{cluster.pk}/scheduler-config{path}"
    return logged_in().generic(method, url, body, content_type="application/yaml")


def points(view: dict[str, Any], profile: int = 0) -> dict[str, list[str]]:
    found = view["effective"]["profiles"][profile]["points"]
    return {point["point"]: [plugin["name"] for plugin in point["plugins"]] for point in found}


def told(problems: list[dict[str, Any]]) -> list[tuple[int | None, str, str]]:
    return [(problem["line"], problem["path"], problem["message"]) for problem in problems]


def profiles(count: int) -> str:
    return HEAD + "profiles:\n" + "".join(f"- schedulerName: a{number}\n" for number in range(count))


def test_profiles_are_bounded_before_any_is_built(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "build", lambda *_, **__: pytest.fail("it is built"))
    answer = call(cluster, profiles(10_000))
    assert answer.status_code == 422
    assert told(answer.json()["extra"]["problems"]) == [(3, "profiles", "Too many: 10000: must have at most 100 items")]


def test_configuration_is_built_once_however_often_it_is_asked_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []
    real = configuration.build

    def counting(*given: Any, **options: Any) -> Any:
        built.append(1)
        return real(*given, **options)

    monkeypatch.setattr(configuration, "build", counting)
    text = profiles(1) + "- schedulerName: built-once\n"
    assert call(cluster, text).status_code == 200
    views = [call(cluster, "", "GET").json() for _ in range(3)]
    assert len(views[0]["effective"]["profiles"]) == 2 and views[0] == views[2]
    assert len(built) == 1


def test_new_cluster_has_the_defaults_as_its_first_version(cluster: Cluster) -> None:
    view = call(cluster, "", "GET").json()
    assert (view["version"], view["text"], view["replayable"], view["problems"]) == (1, "", True, [])
    assert points(view)["queueSort"] == ["PrioritySort"]
    assert points(view)["bind"] == ["DefaultBinder"]
    (profile,) = view["effective"]["profiles"]
    weights = {plugin["name"]: plugin["weight"] for plugin in profile["points"][7]["plugins"]}
    assert (profile["points"][7]["point"], weights["TaintToleration"], weights["NodeResourcesFit"]) == ("score", 3, 1)
    assert (profile["scheduler_name"], profile["left_out"], profile["replayable"]) == ("default-scheduler", [], True)


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_upload_is_a_new_version_in_the_log_that_wakes_the_scheduler(
    cluster: Cluster,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(wake.app, "send_task", lambda name, **rest: woken.append((name, rest["kwargs"])))
    with django_capture_on_commit_callbacks(execute=True):
        answer = call(cluster, SMALL, method)
    assert answer.status_code == 200
    view = answer.json()
    assert (view["version"], view["text"], view["actor"]) == (2, SMALL, "ada")
    assert view["effective"]["pod_initial_backoff_seconds"] == 2
    assert view["effective"]["profiles"][0]["scheduler_name"] == "small"
    assert view["effective"]["profiles"][0]["percentage_of_nodes_to_score"] == 40
    last = Change.objects.filter(cluster=cluster).order_by("-rv")[0]
    assert (last.operation, last.actor, unpack(last.object)["config_version"]) == ("setting", "ada", 2)
    assert woken == [("scheduling.ensure_leader", {"cluster_id": cluster.pk})]


def test_json_is_taken_like_yaml(cluster: Cluster) -> None:
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    assert call(cluster, orjson.dumps(document)).json()["version"] == 2


def test_versions_are_kept_and_can_be_read(cluster: Cluster) -> None:
    call(cluster, SMALL)
    call(cluster, " \n")
    listed = call(cluster, "", "GET", "/versions").json()["results"]
    assert [(version["version"], version["actor"]) for version in listed] == [(3, "ada"), (2, "ada"), (1, "test")]
    assert "text" not in listed[0]
    assert call(cluster, "", "GET", "/versions/2").json()["text"] == SMALL
    assert call(cluster, "", "GET").json()["text"] == ""
    assert call(cluster, "", "GET", "/versions/9").status_code == 404


def test_text_in_force_given_again_changes_nothing(cluster: Cluster) -> None:
    assert [call(cluster, SMALL).json()["version"] for _ in range(2)] == [2, 2]
    assert SchedulerConfigVersion.objects.filter(cluster=cluster).count() == 2


@cases(
    "content, problems",
    (
        "several values",
        HEAD + "parallelism: 0\npodInitialBackoffSeconds: 0\n",
        [
            (3, "parallelism", "Invalid value: 0: should be an integer value greater than zero"),
            (4, "podInitialBackoffSeconds", "Invalid value: 0: must be greater than 0"),
        ],
    ),
    (
        "unknown fields",
        HEAD + "profilez: []\nprofiles: [{plugin: {}}]\n",
        [
            (3, "profilez", 'strict decoding error: unknown field "profilez"'),
            (4, "profiles[0].plugin", 'strict decoding error: unknown field "profiles[0].plugin"'),
        ],
    ),
    (
        "a plugin that is not installed, and extenders that cannot be reached",
        HEAD + "profiles:\n- plugins: {filter: {enabled: [{name: Nope}]}}\n  pluginConfig: {}\n"
        "extenders:\n- urlPrefix: ftp://x\n- urlPrefix: https://e\n  tlsConfig: {insecure: true, caData: YQ==}\n",
        [
            (
                4,
                "profiles[0].plugins.filter.enabled[0]",
                "initializing profiles: creating profile for scheduler name default-scheduler:"
                ' FilterPlugin "Nope" does not exist',
            ),
            (5, "profiles[0].pluginConfig", "expected a list, got an object"),
            (7, "extenders[0].urlPrefix", 'couldn\'t build extenders: urlPrefix "ftp://x" is no http or https URL'),
            (
                9,
                "extenders[1].tlsConfig",
                "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed",
            ),
        ],
    ),
    ("no document", "just words", [(1, "", "expected an object with apiVersion and kind at the top")]),
)
def test_refused_configuration_lists_every_problem(
    cluster: Cluster, content: str, problems: list[tuple[int, str, str]]
) -> None:
    answer = call(cluster, content)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert told(answer.json()["extra"]["problems"]) == problems
    checked = call(cluster, content, "POST", "/check")
    assert (checked.status_code, told(checked.json()["problems"]), checked.json()["changes"]) == (200, problems, None)
    cluster.refresh_from_db()
    assert (cluster.config_version, cluster.scheduler_config) == (1, "")


@cases(
    "content",
    ("not UTF-8", b"\xff\xfe\xff"),
    ("not UTF-8 and short", b"\xff \n"),
    ("a NUL", b"a: \x00"),
    ("nested too deeply", b"[" * 50_000),
    ("JSON nested too deeply", b'{"a": ' * 50_000),
    ("an alias", b"a: &x 1\nb: *x\n"),
    ("too large", b"# " + b"x" * 1_000_001),
    ("half a character", orjson.dumps({"apiVersion": "v", "kind": "K"}).replace(b'"K"', rb'"\ud800"')),
)
def test_bytes_that_are_no_configuration_are_refused(cluster: Cluster, content: bytes) -> None:
    assert call(cluster, content).status_code == 422


def test_configuration_that_has_become_unusable_says_so(cluster: Cluster) -> None:
    text = HEAD + "profiles: [{plugins: {multiPoint: {enabled: [{name: Uninstalled}]}}}]\n"
    SchedulerConfigVersion.objects.filter(cluster=cluster).update(text=text)
    view = call(cluster, "", "GET").json()
    assert view["effective"] is None
    assert view["complete"]
    (problem,) = view["problems"]
    assert (problem["line"], problem["path"]) == (3, "profiles[0].plugins.multiPoint.enabled[0]")
    assert (problem["found"], problem["expected"]) == ("Uninstalled", "an installed plugin")


def test_former_version_is_refused_and_says_what_changed(cluster: Cluster) -> None:
    answer = call(cluster, FORMER)
    assert answer.status_code == 422
    (problem,) = answer.json()["extra"]["problems"]
    assert problem["message"].startswith('no kind "KubeSchedulerConfiguration" is registered for version ')
    assert (problem["line"], problem["expected"]) == (1, "kubescheduler.config.k8s.io/v1")
    assert problem["help"].startswith(f"Write {V1}\nWhat changed from v1beta3 to v1:\n- ")
    assert call(cluster, FORMER, "POST", "/check").json()["problems"] == [problem]


def test_former_version_that_is_stored_goes_on_as_it_was(cluster: Cluster) -> None:
    SchedulerConfigVersion.objects.filter(cluster=cluster).update(text=FORMER)
    Cluster.objects.filter(pk=cluster.pk).update(scheduler_config=FORMER)
    view = call(cluster, "", "GET").json()
    assert (view["problems"], view["effective"]["profiles"][0]["scheduler_name"]) == ([], "older")
    assert "schedulerName: older" in view["complete"]
    changes = call(cluster, SMALL).json()["changes"]
    assert {"path": "profiles[older]", "kind": "removed", "before": "", "after": ""} in changes


WEIGHT = HEAD + "profiles: [{plugins: {multiPoint: {enabled: [{name: TaintToleration, weight: 9}]}}}]\n"
AT_WEIGHT = "profiles[default-scheduler].plugins.multiPoint.enabled[TaintToleration].weight"


def test_answer_says_what_changed_against_the_version_before(cluster: Cluster) -> None:
    assert call(cluster, "", "GET").json()["changes"] is None
    changed = [{"path": AT_WEIGHT, "kind": "changed", "before": "3", "after": "9"}]
    assert call(cluster, WEIGHT, "POST", "/check").json()["changes"] == changed
    cluster.refresh_from_db()
    assert cluster.config_version == 1
    assert call(cluster, WEIGHT).json()["changes"] == changed
    assert call(cluster, WEIGHT + "# words\n").json()["changes"] == []
    back = call(cluster, "")
    assert back.json()["changes"] == [{"path": AT_WEIGHT, "kind": "changed", "before": "9", "after": "3"}]
    assert call(cluster, "", "GET", "/versions/2").json()["changes"] == changed


def test_configuration_is_shown_in_full_and_can_be_used_as_such(cluster: Cluster) -> None:
    full = call(cluster, "", "GET").json()["complete"]
    assert "leaseDuration: 15s" in full and "- name: DefaultBinder" in full
    assert call(cluster, "", "POST", "/check").json()["complete"] == full
    view = call(cluster, full).json()
    assert (view["text"], view["complete"], view["changes"]) == (full, full, [])


def test_configuration_counts_from_the_first_step_on(cluster: Cluster) -> None:
    assert call(cluster, WEIGHT).json()["is_in_use"] is False
    EngineState.objects.create(cluster=cluster, config_version=2)
    assert call(cluster, "", "GET").json()["is_in_use"] is True
    assert call(cluster, "", "GET", "/versions/1").json()["is_in_use"] is False


def test_unknown_cluster_is_not_found() -> None:
    assert call(Cluster(pk=0), SMALL).status_code == 404
    assert call(Cluster(pk=0), "", "GET").status_code == 404
    assert call(Cluster(pk=0), "", "GET", "/versions").status_code == 404


def test_configuration_with_a_plugin_that_declares_nothing_is_stored_as_not_replayable(
    cluster: Cluster, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "lamp-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamp\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scheduler_core.plugins]\nLamp = lamp_for_test:Lamp\n")
    (tmp_path / "lamp_for_test.py").write_text(
        "class Lamp:\n    name = 'Lamp'\n    def __init__(self, *_): pass\n    def filter(self, *_): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    view = call(cluster, HEAD + "profiles: [{plugins: {multiPoint: {enabled: [{name: Lamp}]}}}]\n").json()
    assert (view["replayable"], view["effective"]["replayable"]) == (False, False)
    assert view["effective"]["profiles"][0]["not_deterministic"] == ["Lamp"]
    assert view["effective"]["profiles"][0]["ends_reuse"] == ["Lamp"]
    assert points(view)["filter"][-1] == "Lamp"
    assert call(cluster, "", "GET", "/versions").json()["results"][0]["replayable"] is False
