"""The tool that writes the table of Go types reads sources as gofmt writes them, and refuses what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import cases
from tools.go_types import HEAD, UnknownType, render

CORE = """\
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	// why
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// PodTemplateSpec says {
type PodTemplateSpec struct {
	// metadata is json:"not this"
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Host  `json:",inline"`
	Limits ResourceList `json:"limits,omitempty"`
	Modes []*Mode `json:"modes"`
	Next *PodTemplateSpec `json:"next"`
	ID types.UID `json:"id"`
	Raw []byte `json:"raw"`
}

type Mode string // a word
type ResourceList map[ResourceName]resource.Quantity
type ResourceName string
type Host struct {
	Port int32 `json:"port"`
}
type Unused struct {
	Function func() `json:"function"`
}
"""
META = """\
package v1

type ObjectMeta struct {
	Created Time `json:"created"`
}
"""
TYPES = """\
package types

import "fmt"

type UID string
"""
WANT = """\
v1.PodTemplateSpec
  ObjectMeta metadata v1.ObjectMeta
  Host . v1.Host
  Limits limits v1.ResourceList
  Modes modes []*v1.Mode
  Next next *v1.PodTemplateSpec
  ID id types.UID
  Raw raw []uint8
v1.ObjectMeta
  Created created v1.Time
v1.Host
  Port port int32
v1.ResourceList = map[v1.ResourceName]resource.Quantity
v1.Mode = string
types.UID = string
v1.ResourceName = string
"""


def checkout(root: Path, core: str = CORE) -> Path:
    files = {
        "api/core/v1/types.go": core,
        "api/core/v1/types_test.go": "package v1_test\n",
        "apimachinery/pkg/apis/meta/v1/types.go": META,
        "apimachinery/pkg/types/uid.go": TYPES,
        "apimachinery/pkg/api/resource/quantity.go": "package resource\n",
    }
    for name, text in files.items():
        path = root / "staging" / "src" / "k8s.io" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_table_has_every_type_that_fields_lead_to(tmp_path: Path) -> None:
    assert render(checkout(tmp_path)) == HEAD + WANT


@cases(
    "old, new, message",
    ("no such type", "ID types.UID", "ID types.Gone", "pkg/types has no type Gone"),
    ("no such package", "ID types.UID", "ID other.UID", "other.UID"),
    ("no type of data", "ID types.UID", "ID func() string", "ID func"),
    ("no name in manifests", '`json:"id"`', "", "ID types.UID"),
    ("two types of one name", "type Host struct", "type ObjectMeta struct", "stands for"),
)
def test_what_the_table_cannot_say_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    core = CORE.replace(old, new)
    if "ObjectMeta" in new:
        core = core.replace("\tHost ", "\tObjectMeta ")
    with pytest.raises(UnknownType, match=message):
        render(checkout(tmp_path, core))
