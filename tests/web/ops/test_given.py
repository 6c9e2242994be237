"""What `./ksched import` takes: files, folders, standard input, and no URL."""

import io
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from kschedweb.cluster.intake.archives import is_read
from kschedweb.cluster.intake.limits import Limits
from kschedweb.environment import ROOT
from kschedweb.ops import given
from kschedweb.ops.given import NotGivenError
from tests.cases import cases

# The browser packs folders by the same rules and is held to the same cases.
CASES = json.loads((ROOT / "frontend/src/lib/given.cases.json").read_text())


def folder(at: Path, *names: str) -> Path:
    for name in names:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(name)
    return at


def members(content: bytes) -> dict[str, str]:
    """The files of an archive with what is in them."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {each.name: (tar.extractfile(each) or io.BytesIO()).read().decode() for each in tar}


def test_folder_becomes_an_archive_of_its_manifests(tmp_path: Path) -> None:
    names = ("nodes.json", "default/pods.YAML", "default/p1/logs.txt", "a.yml.gz", "b.tgz", "._nodes.json", "README")
    found = given.read([folder(tmp_path / "dump.local.7", *names)])
    ((name, content),) = found.uploads
    assert name == "dump.local.7"
    assert members(content) == {each: each for each in ("a.yml.gz", "b.tgz", "nodes.json", "default/pods.YAML")}
    assert found.passed_over == 3


@pytest.mark.parametrize("name", CASES["read"] + CASES["passedOver"])
def test_name_says_whether_a_file_of_a_folder_goes_along(name: str) -> None:
    assert is_read(name) == (name in CASES["read"])


def test_browser_has_the_limits_of_the_command() -> None:
    limits = Limits()
    assert (CASES["files"], CASES["bytes"]) == (limits.archive_files, limits.unpacked_bytes)


def test_files_and_folders_come_in_their_order(tmp_path: Path) -> None:
    folder(tmp_path, "x.csv", "f/a.yaml")
    found = given.read([tmp_path / "x.csv", str(tmp_path / "f") + "/", tmp_path / "x.csv"])
    assert [name for name, _ in found.uploads] == ["x.csv", "f", "x.csv"]
    assert found.uploads[0][1] == b"x.csv"


def test_link_to_a_file_is_read_and_one_to_a_folder_is_not(tmp_path: Path) -> None:
    at = folder(tmp_path / "f", "a.yaml", "b/c.yaml")
    (at / "link.yaml").symlink_to(at / "a.yaml")
    (at / "round").symlink_to(at)
    (at / "gone.yaml").symlink_to(at / "nowhere")
    found = given.read([at])
    assert set(members(found.uploads[0][1])) == {"a.yaml", "b/c.yaml", "link.yaml"}
    assert found.passed_over == 1


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"kind: Pod\n")
    assert given.read(["-"]).uploads == [("stdin", b"kind: Pod\n")]


@cases(
    "words, message",
    ("a URL", ["https://example.com/a.yaml"], "https://example.com/a.yaml is a URL, which is not fetched: curl "),
    ("nothing on standard input", ["-"], "standard input is empty"),
    ("a folder of other files", ["."], "has no file *.yaml, *.yml or *.json"),
)
def test_what_cannot_be_had_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    stdin(monkeypatch, b"")
    monkeypatch.chdir(folder(tmp_path, "README"))
    with pytest.raises(NotGivenError) as caught:
        given.read(words)
    assert message in str(caught.value)


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"kind: Pod\n")
    with pytest.raises(NotGivenError, match="once"):
        given.read(["-", "-"])


@cases("name, want", ("a folder", "dump/default", "default"), ("this folder", ".", "here"), ("its end", "x/..", "here"))
def test_name_of_a_cluster_is_that_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, want: str
) -> None:
    monkeypatch.chdir(folder(tmp_path / "here", "x/a.yaml"))
    assert given.default_name(name) == want
