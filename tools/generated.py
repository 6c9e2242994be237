"""`python -m tools.generated`: writes the files that are made from others and committed with them.

contract/api.gen.ts comes from the OpenAPI document (kschedweb/rest/openapi.py) by way of openapi-typescript;
docs/coverage.md from the names of tests; the table of settings in docs/operations.md from
kschedweb/environment.py; the tables of docs/lists.md from kschedweb/query/keys.py. `stale()` compares without writing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kschedweb.environment import ROOT
from tools import checklist, lists_table, settings_table
from tools.node import FRONTEND, install_front, node_environment

TYPES = FRONTEND / "src" / "contract" / "api.gen.ts"
# Export every schema by its name, make answers read-only, and leave out of inputs what has a default.
OPTIONS = (
    *("--root-types", "--root-types-no-schema-prefix", "--root-types-keep-casing"),
    *("--immutable", "--default-non-nullable=false"),
)


class GenerationFailed(Exception):
    """One of the programs that write these files failed; the text is what it said."""


def render() -> dict[Path, str]:
    """Every generated file with the text it should have."""
    return {
        checklist.path(): checklist.render(),
        settings_table.PAGE: settings_table.render(),
        lists_table.PAGE: lists_table.render(),
        TYPES: _types(),
    }


def stale() -> list[str]:
    """The files whose committed text is another."""
    return [
        str(path.relative_to(ROOT)) for path, text in render().items() if not path.exists() or path.read_text() != text
    ]


def _types() -> str:
    with tempfile.TemporaryDirectory() as scratch:
        document, types = Path(scratch) / "openapi.yaml", Path(scratch) / TYPES.name
        django = {**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test"}
        _call([sys.executable, "manage.py", "spectacular", "--validate", "--file", str(document)], ROOT, django)
        node = node_environment()
        install_front(node)
        words = ["npx", "--no-install", "openapi-typescript", str(document), "--output", str(types), *OPTIONS]
        _call(words, FRONTEND, node)
        return types.read_text()


def _call(words: list[str], folder: Path, environment: dict[str, str]) -> None:
    result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        raise GenerationFailed(f"{' '.join(words[:4])} failed:\n{result.stdout}{result.stderr}")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.generated")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    if parser.parse_args(words).check:
        names = stale()
        for name in names:
            print(f"{name} is stale: python -m tools.generated")
        return 1 if names else 0
    for path, text in render().items():
        path.write_text(text)
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
