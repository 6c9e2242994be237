"""Templates: what Go's text/template would make of the actions that upstream's files use, and nothing else."""

from pathlib import Path

import pytest

from tests.cases import cases
from tools.bench.scheduler_perf.problems import NotSupported
from tools.bench.scheduler_perf.templates import Template


def template(folder: Path, text: str) -> Template:
    path = folder / "t.yaml"
    path.write_text(text)
    return Template(path)


@cases(
    "text, want",
    ("the number", "{{ .Index }}", "13"),
    ("the number without spaces", "n-{{.Index}}-x", "n-13-x"),
    ("how many there are", "{{ .Count }}", "20"),
    ("a quotient is cut", "{{ div 100 .Index }}", "7"),
    ("a remainder", "8{{ mod .Index 12 }}", "81"),
    ("two actions", "{{div .Index 5}}/{{ .Count }}", "2/20"),
)  # fmt: skip
def test_action_becomes(text: str, want: str, tmp_path: Path) -> None:
    made = template(tmp_path, f"metadata:\n  name: 'x{text}'\n").manifest(13, 20)
    assert made == {"metadata": {"name": f"x{want}"}}


@pytest.mark.parametrize(
    "action", ["range .Items", ".Name", "printf .Index", "add .Index 1", "div .Index", "div .Index 0"]
)
def test_other_actions_are_named(action: str, tmp_path: Path) -> None:
    made = template(tmp_path, f"metadata: {{name: 'x{{{{ {action} }}}}'}}\n")
    with pytest.raises(NotSupported, match=rf"t\.yaml.*\{{\{{{action}\}}\}}"):
        made.manifest(1, 2)


def test_template_has_to_be_there_and_to_be_one_object(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=r"gone\.yaml cannot be read"):
        Template(tmp_path / "gone.yaml")
    with pytest.raises(NotSupported, match="2 documents"):
        template(tmp_path, "a: 1\n---\nb: 1\n")
