"""Files cut, doubled, mixed, packed and wrongly encoded at random: nothing fails, nothing is lost, all is told once."""

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from kschedweb.cluster import services
from kschedweb.cluster.intake import objects
from kschedweb.cluster.intake.archives import MOST_NESTED, is_read
from kschedweb.cluster.intake.files import Upload, shown
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.models import Cluster
from kschedweb.common.errors import ApplicationError
from tests.examples import examples
from tests.web.rest import items, logged_in, node, pod, upload

SETTINGS = examples(25, suppress_health_check=list(HealthCheck))

GOOD = [node("n1"), pod("a"), pod("b"), items(pod("c"), node("n2")), {"apiVersion": "x.io/v1", "kind": "Other"}]
ODD: list[Any] = [{}, [], 7, "text", {"kind": "Pod"}, {"kind": 7}, {"kind": "A\0", "apiVersion": "v1"}, items()]
ODD += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x\0"}}, {"kind": "PodList", "items": [7, None]}]
# Where a document is cut the next one begins at the next line that begins with a bracket.
BRACKETED = [value for value in GOOD + ODD if isinstance(value, dict | list)]
JUNK = [b"a: {{ .b }}\n", b'{"a": ', b"hello\n", b"\xff\xfe", b"\0", b"%YAML 1.1\n", b"...\n", b"- [\n", b'"', b"]}\n"]
JUNK += [b"==== START logs for container c of pod a/b ====\n", b"==== END logs for container c of pod a/b ====\n"]
NAMES = [
    "a.yaml",
    "../../etc/x.json",
    "/abs.yml",
    "no.txt",
    "x\udcff.yaml",
    "\u202e.json",
    "n" * 300 + ".yaml",
    "a.yaml",
]
NAMES += ["a\nb.json", "._x.yaml", ".yaml", "x.tar", "y.json.gz", "d/", "C:\\x\\y.yaml", "//x.yaml", "./x.yaml"]
TYPES = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]


def archive(files: Sequence[tuple[str, bytes] | tuple[str, bytes, bytes]]) -> bytes:
    """Files with their names and contents, and what they are if no files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content, *types in files:
            member = tarfile.TarInfo(name)
            member.type = types[0] if types else tarfile.REGTYPE
            member.linkname = "a.yaml" if member.issym() or member.islnk() else ""
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def as_text(manifest: Any, form: str) -> bytes:
    if form == "yaml":
        return b"---\n" + yaml.safe_dump(manifest).encode()
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2 if form == "pretty" else 0) + b"\n"


documents = st.builds(as_text, st.sampled_from(GOOD + ODD), st.sampled_from(["yaml", "pretty", "line"]))
texts = st.lists(documents | st.sampled_from(JUNK), max_size=6).map(b"".join)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A text, or an archive of texts; then perhaps cut, doubled, changed, encoded or packed."""
    content = draw(texts)
    if draw(st.booleans()):
        files: list[Any] = draw(st.lists(st.tuples(st.sampled_from(NAMES), texts), max_size=4))
        others = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.just(b""), st.sampled_from(TYPES)), max_size=2))
        content = archive(files + others)
    for what in draw(st.lists(st.sampled_from(["cut", "double", "change", "utf-16", "crlf", "gzip"]), max_size=3)):
        at = draw(st.integers(0, len(content)))
        if what == "cut":
            content = content[:at]
        elif what == "double":
            content += content[at:]
        elif what == "change":
            content = content[:at] + draw(st.binary(max_size=3)) + content[at + 1 :]
        elif what == "utf-16":
            content = content.decode("latin-1").encode("utf-16")
        elif what == "crlf":
            content = content.replace(b"\n", b"\r\n")
        else:
            content = gzip.compress(content, mtime=0)
    return content


class OddUploadsTest(TestCase):
    cluster: Cluster

    def setUp(self) -> None:
        self.cluster = services.cluster_create(name="odd")

    @given(contents(), st.sampled_from(["a.yaml", "x\0y\ud83d", "a.tar.gz", "\u202e", "n" * 400]), st.booleans())
    @SETTINGS
    def test_every_upload_is_answered_and_each_object_is_told_once(
        self, content: bytes, name: str, partial: bool
    ) -> None:
        query = f"?filename={quote(name, errors='replace')}&partial={str(partial).lower()}"
        answer = upload(logged_in(), self.cluster, content, query)
        self.assertIn(answer.status_code, (201, 400, 413, 422), answer.content)
        told = answer.json()
        if answer.status_code != 201:
            assert told["message"]
            return
        report = told["report"]
        objects_ = sum(file["objects"] for file in report["files"])
        left_out = sum(one["count"] for one in report["left_out"])
        outcomes = Counter[str]()
        for counts in report["kinds"].values():
            outcomes.update(counts)
        assert left_out == sum(report["not_understood"].values())
        assert objects_ == left_out + outcomes.total()
        unreadable = report["refused_total"] - outcomes["refused"]
        assert unreadable >= 0 and (partial or report["refused_total"] == 0)


@given(st.lists(st.tuples(st.sampled_from(BRACKETED), st.sampled_from(["good", "cut", "junk"])), max_size=6), st.data())
@SETTINGS
def test_each_document_of_a_text_is_told_once(parts: list[tuple[Any, str]], data: st.DataObject) -> None:
    """What each document holds is known here: one that is sound is taken or refused, one that is not is refused."""
    form = data.draw(st.sampled_from(["yaml", "line"]))
    wrong = {"yaml": b"---\na: {{ .b }}\n", "line": b'{"a": \n'}[form]
    text = b"".join(as_text(value, form) if how == "good" else wrong for value, how in parts)
    try:
        found = objects.read([Upload("f", text)], Limits(), partial=True)
    except ApplicationError as error:
        refused = error.extra.get("refused", [error.extra])
        told = Counter(one.get("document", 0) for one in refused)
        assert all(count == 1 or how == "good" for (_, how), count in zip(parts, told.values(), strict=False))
        return
    (file,) = found.files
    assert file.documents == len(parts)
    taken = {item.place.document for item in found.items}
    refused_at = {one["document"] for one in found.refused.listed}
    for number, (value, how) in enumerate(parts, 1):
        if how != "good":
            assert number in refused_at and number not in taken
        elif value not in ([], items()):
            assert (number in taken) != (number in refused_at)
            assert number in taken or value not in GOOD


# What becomes of a file of an archive that is opened, and its content.
MEMBERS: dict[str, tuple[str, bytes]] = {
    "an object": ("taken", orjson.dumps(pod("a"))),
    "as Windows writes it": ("taken", b"\xef\xbb\xbf" + yaml.safe_dump(node("n1")).replace("\n", "\r\n").encode()),
    "in UTF-16": ("taken", orjson.dumps(pod("a")).decode().encode("utf-16")),
    "packed": ("taken", gzip.compress(orjson.dumps(pod("a")), mtime=0)),
    "no object": ("refused", b"a: 1\n"),
    "a template": ("refused", b"a: {{ .b }}\n"),
    "another encoding": ("refused", b"a: \xff\n"),
    "cut": ("refused", gzip.compress(b"a: 1\n", mtime=0)[:-3]),
    "empty": ("nothing", b""),
    "a comment": ("nothing", b"# Source: x.yaml\n"),
    "an empty archive": ("nothing", archive([])),
}
REGULAR = st.just(tarfile.REGTYPE)
members_ = st.tuples(st.sampled_from(NAMES), REGULAR | REGULAR | st.sampled_from(TYPES), st.sampled_from([*MEMBERS]))
trees = st.recursive(st.lists(members_, max_size=6), lambda inner: st.lists(members_ | inner, max_size=3))


def packed_tree(tree: list[Any], want: Counter[str], depth: int = 0) -> bytes:
    """The archive of a tree, in which a list is another archive; `want` counts what has to become of its files."""
    files: list[Any] = []
    for each in tree:
        if isinstance(each, list) and depth + 1 < MOST_NESTED:
            files.append(("in.tar", packed_tree(each, want, depth + 1)))
        elif isinstance(each, list):
            want["refused"] += 1  # it is not looked into
            files.append(("in.tar", archive([("x", b"")])))
        else:
            name, type_, content = each
            is_opened = type_ == tarfile.REGTYPE and is_read(shown(name))
            files.append((name, MEMBERS[content][1] if type_ == tarfile.REGTYPE else b"", type_))
            want[MEMBERS[content][0] if is_opened else "folders" if type_ == tarfile.DIRTYPE else "passed over"] += 1
    return archive(files)


@given(trees)
@SETTINGS
def test_each_file_of_archives_is_told_once(tree: list[Any]) -> None:
    """Whatever its name, and whichever archive it stands in: it is taken, refused, or counted as passed over."""
    want = Counter[str]()
    content = packed_tree([*tree, ("first.json", tarfile.REGTYPE, "an object")], want)
    found = objects.read([Upload("f.tar", content)], Limits(), partial=True)
    told = (len(found.items), found.refused.total, found.passed_over["files"])
    assert told == (want["taken"], want["refused"], want["passed over"])
    assert sum(file.objects for file in found.files) == want["taken"]


@pytest.mark.parametrize("pieces", range(1, 40))
def test_archive_that_is_cut_loses_nothing_in_silence(pieces: int) -> None:
    files = [(f"{number}.json", orjson.dumps(pod(f"p{number}"))) for number in range(4)]
    whole = archive(files)
    content = whole[: len(whole) * pieces // 40]
    try:
        found = objects.read([Upload("f.tar", content)], Limits(), partial=True)
    except ApplicationError:
        return
    assert len(found.items) == len(files) or found.refused.total
