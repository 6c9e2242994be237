"""The table of kinds that are kept is made of the Go types of a checkout, tags and markers among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.api.schema.types import fully_listed, kept_types
from tools import kept_types as tool

SOURCE = """\
package v1

// Den is where otters are.
// +structType=atomic
type Den struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// +listType=map
	// +listMapKey=name
	Otters []Otter `json:"otters,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep"`

	// +optional
	Mood *Mood `json:"mood" protobuf:"bytes,3,opt,name=mood,casttype=Mood"`
	// +required
	Depth int32 `json:"depth,omitempty" protobuf:"varint,4,opt,name=depth"`
	Place `json:",inline" protobuf:"bytes,5,opt,name=place"`
}

// +enum
type Mood string

const (
	// Glad is a value.
	Glad Mood = "very glad"
	Sad = Mood("Sad")
)

type Place struct {
	Names map[string]Mood `json:"names" protobuf:"bytes,1,rep,name=names"`
}

type Otter struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}
"""
LINES = """\
dens.Den atomic
  metadata? meta.ObjectMeta #1
  otters? []dens.Otter merge:name map:name #2
  mood *string:Mood optional enum:very_glad|Sad #3
  depth? int32 required #4
  names {}string:Mood enum:very_glad|Sad #5.1
dens.Otter
  name string #1
"""


def checkout(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    staging = folder / "staging" / "src" / "k8s.io" / "api"
    for path, content in (("dens/v1", source), ("core/v1", "package v1\n")):
        (staging / path).mkdir(parents=True)
        (staging / path / "types.go").write_text(content)
    monkeypatch.setattr(tool, "SOURCES", {"dens": ("api/dens/v1", "Den")})
    return folder


def test_a_type_has_its_fields_with_tags_and_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tool.render(checkout(tmp_path, SOURCE, monkeypatch)) == tool.HEAD + LINES


def test_a_type_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = checkout(tmp_path, SOURCE.replace("type Otter struct", "type Seal struct"), monkeypatch)
    with pytest.raises(tool.UnknownType, match="Otter"):
        tool.render(folder)


def test_the_table_leads_to_no_type_that_there_is_not() -> None:
    types = kept_types()
    shapes = {
        field.shape.replace("[]", "").replace("{}", "") for one in types.values() for field in one.fields.values()
    }
    assert {shape for shape in shapes if "." in shape} <= types.keys() | fully_listed()
    assert not types.keys() & fully_listed()
    assert tool.TABLE.read_text(encoding="utf-8").startswith(tool.HEAD)
