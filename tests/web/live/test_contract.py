"""events.gen.ts says what events.py says."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from kschedweb.live import contract, events


def test_contract_is_fresh_when_checked() -> None:
    assert contract.main(["--check"]) == 0


def test_contract_check_fails_when_the_file_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "events.gen.ts"
    stale.write_text(contract.render().replace("readonly rv: number;", "readonly rv: string;"))
    monkeypatch.setattr(contract, "TARGET", stale)
    assert contract.main(["--check"]) == 1
    assert "python -m kschedweb.live.contract" in capsys.readouterr().err


def test_contract_names_every_event_when_rendered() -> None:
    rendered = contract.render()
    for event in contract._members("LiveEvent"):
        assert f"export interface {event.__name__} {{" in rendered
        assert f"  | {event.__name__}" in rendered


def test_contract_refuses_a_type_without_a_typescript_form(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Odd:
        value: complex

    monkeypatch.setattr(events, "Odd", Odd, raising=False)
    with pytest.raises(TypeError, match="complex"):
        contract.render()
