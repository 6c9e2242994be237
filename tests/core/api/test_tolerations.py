"""Which taints a toleration lets a pod past."""

from __future__ import annotations

import pytest

from scheduler_core.api.affinity import Taint, Toleration

TAINT = Taint(key="k", effect="NoSchedule", value="v")


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        pytest.param(Toleration("k", "Equal", "v", "NoSchedule"), True, id="all equal"),
        pytest.param(Toleration("k", "", "v"), True, id="no operator is Equal, no effect is every effect"),
        pytest.param(Toleration("k", "Equal", "w"), False, id="other value"),
        pytest.param(Toleration("k", "Exists"), True, id="exists asks no value"),
        pytest.param(Toleration("k", "Exists", "w"), True, id="exists ignores a value"),
        pytest.param(Toleration("", "Exists"), True, id="exists without key tolerates all"),
        pytest.param(Toleration("", "Equal", "v"), True, id="equal without key compares values only"),
        pytest.param(Toleration("j", "Exists"), False, id="other key"),
        pytest.param(Toleration("k", "Exists", "", "NoExecute"), False, id="other effect"),
        pytest.param(Toleration("k", "Gt", "v"), False, id="an unknown operator tolerates nothing"),
    ],
)
def test_tolerates(toleration: Toleration, want: bool) -> None:
    assert toleration.tolerates(TAINT) is want
