"""Query parameters of questions over the traces."""

import pytest

from kschedweb.rest.inputs import PendingPodInput, RefusalInput


@pytest.mark.parametrize("blank", [" ", "\t", "\x1c"], ids=repr)
def test_text_is_looked_for_as_it_was_given(blank: str) -> None:
    asked = RefusalInput(data={"reason": f"{blank}Too many pods{blank}"})
    assert asked.is_valid(), asked.errors
    assert asked.validated_data["reason"] == f"{blank}Too many pods{blank}"


def test_blanks_count_when_a_text_is_too_long() -> None:
    asked = PendingPodInput(data={"reason": "\x1c" + "a" * 1000})
    assert not asked.is_valid()
    assert list(asked.errors) == ["reason"]
