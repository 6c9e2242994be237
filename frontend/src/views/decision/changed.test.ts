import { describe, expect, it } from "vitest";
import { router } from "../../state/route.svelte";
import { answered, cards, refused } from "../__fixtures__/cards";
import { CHANGED } from "../__fixtures__/changed";
import Changed from "./Changed.svelte";
import { decisionHref } from "./view";

const card = cards(decisionHref(1, 9));

function show(answer: () => Response): void {
  card.show(Changed, { clusterId: 1, seq: 9, since: 5 }, answer);
  card.button()?.click();
}

describe("the part that says what changed since another attempt", () => {
  it("asks when that is wanted, and puts nodes below what turned them", async () => {
    show(() => answered(CHANGED));
    await card.says("2 of 7 nodes changed verdict");
    expect(card.asked).toEqual(["/api/clusters/1/attempts/9/changed?since=5"]);
    expect(router.hash).toContain("changed=");
    expect(card.text()).toMatch(/Entry 12.*n1: fits → .*only assumed.*n2: /);
    expect(card.hrefs().some((href) => href.includes("changes"))).toBe(true);
  });

  it("says what came out otherwise, and nothing that rests on it", async () => {
    const apart = { run: 1, step: 1, seq: 9, pod: "d/p", field: "message", recorded: "a", replayed: "b" };
    show(() => answered({ ...CHANGED, difference: apart }));
    await card.says("message");
    expect(card.text()).not.toContain("Entry 12");
  });

  it("says why it is refused", async () => {
    show(() => refused("gone", "history begins at 5.9", 410));
    await card.says("history begins at 5.9");
  });
});
