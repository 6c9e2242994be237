"""A pytest plugin that runs the tests named in a file, and those made since the map: `-p tests.mutation.chosen`.

KSCHED_MUTATION_TESTS names a JSON file: `wanted`, node ids, and `known`, all that the map has. Files run in the order
given on the command line. Random examples are the same in each run, and a failing one is not made smaller.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "mutation", database=None, derandomize=True, phases=(Phase.explicit, Phase.generate), print_blob=False
)
settings.load_profile("mutation")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    told = json.loads(Path(os.environ["KSCHED_MUTATION_TESTS"]).read_text())
    wanted, known = set(told["wanted"]), set(told["known"])
    left_out = [item for item in items if item.nodeid in known and item.nodeid not in wanted]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
