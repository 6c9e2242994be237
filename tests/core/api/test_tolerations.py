"""Which taints a toleration lets a pod past."""

from __future__ import annotations

from scheduler_core.api.affinity import Taint, Toleration
from tests.cases import cases

TAINT = Taint(key="k", effect="NoSchedule", value="v")


@cases(
    "toleration, want",
    ("all equal", Toleration("k", "Equal", "v", "NoSchedule"), True),
    ("no operator is Equal, no effect is every effect", Toleration("k", "", "v"), True),
    ("other value", Toleration("k", "Equal", "w"), False),
    ("exists asks no value", Toleration("k", "Exists"), True),
    ("exists ignores a value", Toleration("k", "Exists", "w"), True),
    ("exists without key tolerates all", Toleration("", "Exists"), True),
    ("equal without key compares values only", Toleration("", "Equal", "v"), True),
    ("other key", Toleration("j", "Exists"), False),
    ("other effect", Toleration("k", "Exists", "", "NoExecute"), False),
    ("an unknown operator tolerates nothing", Toleration("k", "Gt", "v"), False),
)
def test_tolerates(toleration: Toleration, want: bool) -> None:
    assert toleration.tolerates(TAINT) is want
