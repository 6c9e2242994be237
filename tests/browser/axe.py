"""What axe-core finds serious or critical in a page, as it looks in both themes, wide and narrow."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from tools.node import FRONTEND

SCRIPT = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")
WIDTHS = (390, 1280, 2560)
HEIGHT = 900
LOOKS = (("light", 1280), ("dark", 390))
ALL_LOOKS = tuple(itertools.product(("light", "dark"), WIDTHS))


@dataclass(frozen=True)
class Axe:
    """The script of axe-core, which the lock of the frontend lists, and how views are looked at."""

    script: str
    looks: Sequence[tuple[Any, int]] = LOOKS

    def in_turn(self, number: int) -> "Axe":
        """One look alone, the next number another, where not all are wanted."""
        return self if self.looks != LOOKS else Axe(self.script, [LOOKS[number % len(LOOKS)]])

    def findings(self, page: Page, part: Locator | None = None) -> Iterator[str]:
        """What is serious or critical in the page as it is, or in a part of it, in each of the looks."""
        looked_at = part or page.locator("html")
        page.evaluate(self.script)
        options = {"resultTypes": ["violations"]}
        for theme, width in self.looks:
            # Without animations: a colour on its way to another is neither.
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": HEIGHT})
            found = looked_at.evaluate("(element, options) => axe.run(element, options)", options)
            assert found["passes"] or found["incomplete"], "nothing was looked at"
            for rule in found["violations"]:
                for one in rule["nodes"] if rule["impact"] in GRAVE else ():
                    yield f"{theme}, {width} px: {rule['id']} in {one['html'][:200]}: {one['failureSummary']}"

    def check(self, page: Page, part: Locator | None = None) -> None:
        assert not list(self.findings(page, part))
