import { describe, expect, it, vi } from "vitest";
import { answered, cards, refused, WAIT_MS } from "../__fixtures__/cards";
import { EVICTED, RECORDED } from "../__fixtures__/evictedWhy";
import { podHref } from "./view";
import WhyEvicted from "./WhyEvicted.svelte";

const KEY = "default/web";
const ASKED = "/api/clusters/1/pods/default/web/evicted";
const card = cards(podHref(1, KEY));

/** `made`: what comes of making the search again. */
function show(made: () => Response): void {
  card.show(WhyEvicted, { clusterId: 1, key: KEY, uid: "" }, (search) =>
    search.includes("again=false") ? answered(RECORDED) : made(),
  );
}

describe("the card that says why a pod was evicted", () => {
  it("says what is stored, and what each node would have cost when that is asked", async () => {
    show(() => answered(EVICTED));
    await card.says("It makes room for default/high");
    expect(card.asked).toEqual([`${ASKED}?again=false`]);
    card.button()?.click();
    await card.says("highest priority 5 instead of");
    expect(card.text()).toContain("default/kept, priority 1: spared");
    expect(card.button()).toBeUndefined();
    expect(card.hrefs().some((href) => href.includes("attempts/9"))).toBe(true);
    expect(card.hrefs().some((href) => href.includes("changes"))).toBe(true);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    show(() => refused("gone", "history begins at 5.9", 410));
    await card.says("It makes room for");
    card.button()?.click();
    await card.says("history begins at 5.9");
    expect(card.text()).toContain("It makes room for");
  });

  it("says nothing of a pod that nobody evicted", async () => {
    card.show(WhyEvicted, { clusterId: 1, key: KEY, uid: "" }, () => refused("not_found", "no pod of this name", 404));
    await vi.waitFor(() => expect(card.asked).toHaveLength(1), WAIT_MS);
    expect(card.text()).toBe("");
  });
});
