"""Files dropped on the dashboard, imported into this cluster or a new one, and the report in words."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kschedweb.environment import ROOT
from tests.browser.conftest import WAIT_MS, Cluster, Service, clusters, until
from tests.browser.test_panels import part
from tests.browser.test_whole import chooser, node, pod

OPENB = ROOT.parent / "shared" / "data" / "openb"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0,64000,262144,2,P100\nopenb-node-1,96000,524288,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "openb-pod-0,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
    "openb-pod-1,6000,12288,1,460,,LS,Running,427061,12902960,427061\n"
    "openb-pod-2,900000,12288,0,0,,BE,Running,427061,12902960,427061\n"
)
DROP = """files => {
    const brought = new DataTransfer();
    for (const [name, text] of files) brought.items.add(new File([text], name));
    for (const type of ["dragenter", "dragover", "drop"]) {
        document.querySelector("main").dispatchEvent(
            new DragEvent(type, { dataTransfer: brought, bubbles: true, cancelable: true }),
        );
    }
}"""


def drop(page: Page, *files: tuple[str, str]) -> Locator:
    page.evaluate(DROP, [list(file) for file in files])
    return page.get_by_role("dialog")


def new_name() -> str:
    return f"dropped-{datetime.now(UTC):%H%M%S%f}"


def manifest(*objects: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def into_new(dialog: Locator, name: str) -> None:
    dialog.get_by_label("A new cluster").check()
    dialog.get_by_label("Name", exact=True).fill(name)


def start(dialog: Locator) -> None:
    dialog.get_by_role("button", name="Import", exact=True).click()


def test_dropped_trace_becomes_a_new_cluster(page: Page, service: Service) -> None:
    dialog = drop(page, ("openb_node_list.csv", NODES), ("openb_pod_list.csv", PODS))
    expect(dialog.get_by_role("list", name="Files to import").get_by_role("listitem")).to_have_count(2)
    name = new_name()
    into_new(dialog, name)
    start(dialog)
    expect(dialog.get_by_role("status")).to_have_text(f"Imported into {name}.")
    expect(dialog).to_contain_text("openb_node_list.csv: openb CSV")
    expect(dialog).to_contain_text(re.compile(r"Node\s*2 created"))
    expect(dialog).to_contain_text(re.compile(r"Pod\s*3 created"))
    dialog.get_by_role("button", name=f"Open {name}").click()
    expect(chooser(page).locator("option:checked")).to_have_text(name)
    cluster = Cluster(page, service.url, int(page.url.rpartition("/")[2]))
    counts = cluster.call("GET", "summary")["objects"]
    assert (counts["Node"], counts["Pod"]) == (2, 3)
    expect(page.get_by_role("region", name="Nodes", exact=True)).to_be_visible()
    clusters(page, service, "DELETE", f"/{cluster.id}")


def manifests(at: Path, files: int = 3) -> Path:
    """A folder as people have them: nested, with other files between, one name longer than a header of tar."""
    deep = at / "base" / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    (at / "nodes.json").write_text(manifest(node("folder-n1"), node("folder-n2")))
    for number in range(files):
        (deep / f"pod-{number}.yaml").write_text(json.dumps(pod(f"folder-{number}")))
    (at / "README.md").write_text("# Manifests\n")
    (at / "base" / "logs.txt").write_text("{")
    return at


def drop_real(page: Page, *paths: Path) -> Locator:
    """Drop files and folders of the disk, as the browser does when they come from a file manager."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for type_ in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": type_, "x": 300, "y": 300, "data": data})
    return page.get_by_role("dialog")


def test_dropped_folder_is_imported_with_all_in_it(page: Page, service: Service, tmp_path: Path) -> None:
    (tmp_path / "late.json").write_text(manifest(node("folder-n3")))
    dialog = drop_real(page, manifests(tmp_path / "My dump.2", files=150), tmp_path / "late.json")
    files = dialog.get_by_role("list", name="Files to import").get_by_role("listitem")
    expect(files).to_have_count(2)
    expect(files.filter(has_text="My dump.2/")).to_contain_text("151 files, 2 passed over")
    name = new_name()
    into_new(dialog, name)
    start(dialog)
    expect(dialog.get_by_role("status").filter(has_text="Imported into")).to_be_visible(timeout=WAIT_MS)
    expect(dialog).to_contain_text(re.compile(r"Node\s*3 created"))
    expect(dialog).to_contain_text(re.compile(r"Pod\s*150 created"))
    expect(dialog).to_contain_text("Passed over: 2 files of other names.")
    expect(dialog).to_contain_text("My dump.2/nodes.json: JSON")
    (made,) = [one for one in clusters(page, service)["results"] if one["name"] == name]
    clusters(page, service, "DELETE", f"/{made['id']}")


def test_folder_can_be_chosen_and_one_without_manifests_is_named(page: Page, tmp_path: Path) -> None:
    page.get_by_role("button", name="Import", exact=True).click()
    dialog = page.get_by_role("dialog")
    choose = dialog.get_by_label("Choose a folder")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README").write_text("")
    choose.set_input_files(tmp_path / "notes")
    expect(dialog.get_by_role("alert")).to_have_text("notes has no file *.yaml, *.yml or *.json, packed or not.")
    choose.set_input_files(manifests(tmp_path / "chart"))
    files = dialog.get_by_role("list", name="Files to import").get_by_role("listitem")
    expect(files).to_have_count(1)
    expect(files).to_contain_text("4 files, 2 passed over")
    dialog.get_by_label("A new cluster").check()
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("chart")
    expect(dialog.get_by_role("alert")).to_have_count(0)


def test_options_of_the_command_are_there_and_the_report_has_no_raw_keys(page: Page, service: Service) -> None:
    name = new_name()
    made = clusters(page, service, "POST", "", {"name": name})
    cluster = Cluster(page, service.url, made["id"])
    cluster.call("POST", "import", json.loads(manifest(node("old"), node("kept"))))
    page.goto(f"{service.url}/#/clusters/{cluster.id}")
    page.get_by_role("status").filter(has_text="Live").wait_for()
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad Name"}, "spec": {"containers": []}}
    unknown = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}
    text = manifest(node("kept", cpu="16"), pod("one"), bad, unknown)
    dialog = drop(page, ("dump.json", text))
    expect(dialog.get_by_label(f"This cluster: {name}")).to_be_checked()
    dialog.get_by_text("Options").click()
    dialog.get_by_label("Also delete objects that are not in the files").check()
    dialog.get_by_label("Skip what is refused").check()
    dialog.get_by_label("Defaulting and admission").select_option("always")
    dialog.get_by_label("Pod lifecycle").select_option("simulate")
    start(dialog)
    expect(dialog.get_by_role("status")).to_have_text(f"Imported into {name}.")
    expect(dialog).to_contain_text(re.compile(r"Node\s*1 (updated|replaced), 1 deleted"))
    expect(dialog).to_contain_text("Secret (1)")
    expect(dialog.get_by_role("group").filter(has_text="1 object left out")).to_contain_text("item 4")
    expect(dialog.get_by_role("group").filter(has_text="The report's notes")).to_contain_text("Left out, never")
    expect(dialog.get_by_role("group").filter(has_text="Bad Name")).to_contain_text("1 refused")
    report = dialog.inner_text()
    assert not re.search(r"[a-z]+_[a-z]+", report.replace("dump.json", "")), report
    (shown,) = [one for one in clusters(page, service)["results"] if one["id"] == cluster.id]
    assert shown["lifecycle_mode"] == "simulate"
    assert cluster.call("GET", "summary")["objects"]["Node"] == 1
    clusters(page, service, "DELETE", f"/{cluster.id}")


def test_refused_import_says_where_and_the_next_try_goes_into_the_same_cluster(page: Page, service: Service) -> None:
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}}
    dialog = drop(page, ("broken.json", manifest(bad)))
    name = new_name()
    into_new(dialog, name)
    start(dialog)
    alert = dialog.get_by_role("alert")
    expect(alert).to_contain_text(f"The import was refused; the new cluster {name} is empty.")
    expect(alert).to_contain_text(re.compile(r"Object\s*Pod default/p"))
    expect(alert).to_contain_text(re.compile(r"Field\s*spec.containers"))
    dialog.get_by_role("button", name="Change the files or options").click()
    dialog.get_by_role("button", name="Remove broken.json").click()
    good = {"name": "good.json", "mimeType": "application/json", "buffer": manifest(node("n1")).encode()}
    dialog.get_by_label("Choose files, or drop files and folders here").set_input_files(good)
    start(dialog)
    expect(dialog.get_by_role("status")).to_have_text(f"Imported into {name}.")
    (made,) = [one for one in clusters(page, service)["results"] if one["name"] == name]
    clusters(page, service, "DELETE", f"/{made['id']}")


def test_report_is_chinese_when_that_is_chosen(page: Page, service: Service) -> None:
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language").select_option("zh-Hans")
    dialog = drop(page, ("nodes.json", manifest(node("n1"))))
    dialog.get_by_label("新集群").check()
    name = new_name()
    dialog.get_by_label("名称", exact=True).fill(name)
    dialog.get_by_role("button", name="导入", exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text(f"已导入到 {name}。")
    expect(dialog).to_contain_text(re.compile(r"Node\s*新建 1 个"))
    assert not re.search(r"created|objects|_", dialog.inner_text().replace(name, ""))
    (made,) = [one for one in clusters(page, service)["results"] if one["name"] == name]
    clusters(page, service, "DELETE", f"/{made['id']}")


@pytest.mark.skipif(not OPENB.exists(), reason="the openb trace is not here")
def test_openb_pair_is_imported_and_its_numbers_are_true(
    page: Page, service: Service, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A part of its nodes and pods, which fills the nodes; in the long form all."""
    paths = [OPENB / "openb_node_list_all_node.csv", OPENB / "openb_pod_list_default.csv"]
    if not request.config.getoption("--long"):
        paths = [part(path, tmp_path / path.name) for path in paths]
    nodes = f"{len(paths[0].read_text().splitlines()) - 1:,}"
    files: list[str | Path] = [*paths]
    page.get_by_role("button", name="Import", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Choose files, or drop files and folders here").set_input_files(files)
    name = new_name()
    into_new(dialog, name)
    start(dialog)
    expect(dialog.get_by_role("status").filter(has_text="Imported into")).to_be_visible(timeout=WAIT_MS)
    expect(dialog).to_contain_text(re.compile(rf"Node\s*{nodes} created"))
    dialog.get_by_role("button", name=f"Open {name}").click()
    page.get_by_role("status").filter(has_text="Live").wait_for()
    cluster = Cluster(page, service.url, int(page.url.rpartition("/")[2]))
    # While it is scheduled as well as then: what is shown is what REST answers at about that time.

    def all_tried() -> dict[str, Any] | None:
        summary: dict[str, Any] = cluster.call("GET", "summary")
        queues = summary["pending"]["queues"]
        is_over = summary["pending"]["pods"] == queues.get("unschedulable", 0) and "active" not in queues
        return summary if is_over else None

    summary = until(page, all_tried)
    assert summary is not None
    pending = summary["pending"]
    region = page.get_by_role("region", name="Cluster in figures")
    expect(region).to_contain_text(f"{pending['pods']:,} unschedulable")
    expect(region).to_contain_text(nodes)
    since = cluster.call("GET", "throughput?last_seconds=86400&seconds=60")["points"]
    bound = sum(point["bound"] for point in since)
    assert bound == summary["objects"]["Pod"] - pending["pods"]
    assert sum(since[-1]["queued"].values()) == pending["pods"]
    chart = page.get_by_role("region", name="Throughput")
    # The service tells the browser no faster than it finds the time to, and all of it.
    expect(chart).to_contain_text(re.compile(rf"Queued pods {pending['pods']:,}\b"), timeout=WAIT_MS)
    card = page.get_by_role("region", name="What keeps pods pending")
    for reason in pending["reasons"][:5]:
        row = card.get_by_role("button", name=reason["reason"]).filter(has_text=reason["plugin"]).first
        expect(row).to_contain_text(f"{reason['pods']:,} pod")
        row.click()
        expect(card).to_contain_text(f"{reason['nodes']:,} rejection")
    clusters(page, service, "DELETE", f"/{cluster.id}")
