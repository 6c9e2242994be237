import { describe, expect, it } from "vitest";
import { router } from "../../state/route.svelte";
import { answered, cards, refused } from "../__fixtures__/cards";
import { STORED, WHY } from "../__fixtures__/pendingWhy";
import { podHref } from "./view";
import WhyPending from "./WhyPending.svelte";

const KEY = "default/web";
const card = cards(podHref(1, KEY));
const ask = () => card.button("which change");

/** `made`: what comes of making the attempt again. */
function show(made: () => Response): void {
  card.show(WhyPending, { clusterId: 1, key: KEY, seq: 9, tries: 1 }, (search) =>
    search.includes("again=false") ? answered(STORED) : made(),
  );
}

describe("the card that says why a pod is pending", () => {
  it("says what is stored, and which change it was when that is asked", async () => {
    show(() => answered(WHY));
    await card.says("2 attempts in a row");
    expect(card.asked).toEqual(["/api/clusters/1/pods/default/web/why?again=false"]);
    ask()?.click();
    await card.says("Made unschedulable by entry 12");
    expect(card.text()).toContain("alone 2");
    expect(router.hash).toContain("why=");
    expect(ask()).toBeUndefined();
    expect(card.hrefs().some((href) => href.includes("plugin=NodeUnschedulable"))).toBe(true);
    expect(card.hrefs().some((href) => href.includes("changes"))).toBe(true);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    show(() => refused("gone", "history begins at 5.9", 410));
    await card.says("in a row");
    ask()?.click();
    await card.says("history begins at 5.9");
    expect(card.text()).toContain("in a row");
  });
});
