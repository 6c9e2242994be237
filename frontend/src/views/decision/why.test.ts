import { beforeEach, describe, expect, it, vi } from "vitest";
import type { AttemptDetail, NodeWhy } from "../../contract/api.gen";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { liveState } from "../../live/__fixtures__/state";
import { router } from "../../state/route.svelte";
import { ATTEMPT } from "../__fixtures__/attempts";
import { answered, cards, refused, WAIT_MS } from "../__fixtures__/cards";
import { WHY } from "../__fixtures__/why";
import { decisionHref, whyHref } from "./view";
import Why from "./Why.svelte";

const PLACED: AttemptDetail = {
  ...ATTEMPT,
  result: "scheduled",
  node_name: "n1",
  seed: 1,
  digest: "d",
  matrix: null,
};
const STORED: NodeWhy = { ...WHY, made_again: false, turn: null };
const ASKED = "/api/clusters/1/attempts/9/why";
const card = cards(decisionHref(1, PLACED.seq));
const ask = () => card.button("turned");
let followed: boolean[] = [];

beforeEach(() => {
  followed = [];
});

/** `made`: what comes of making the attempt again, a refusal where it is a status. */
function show(made: NodeWhy | number = WHY, isMirror = false): void {
  const live = liveState({ cluster: { ...CLUSTER, is_mirror: isMirror } });
  const props = { attempt: PLACED, live, onrow: (isInMatrix: boolean) => void followed.push(isInMatrix) };
  card.show(Why, props, (search) => {
    if (search.includes("again=false")) return answered(STORED);
    return typeof made === "number" ? refused("gone", "history begins at 5.9", made) : answered(made);
  });
}

describe("the card that says why a node was chosen", () => {
  it("says what is stored, and what weight would have turned it when that is asked", async () => {
    show();
    await card.says("n1 has 345, n2 305: 40 more.");
    expect(card.asked).toEqual([`${ASKED}?again=false`]);
    expect(card.text()).not.toContain("weight 24");
    ask()?.click();
    await card.says("With ImageLocality at weight 24 instead of 3");
    expect(router.hash).toBe(whyHref(1, 9));
    expect(card.asked).toEqual([`${ASKED}?again=false`, `${ASKED}?again=true`]);
    expect(ask()).toBeUndefined();
  });

  it("asks about the node that is named, which stands in the address", async () => {
    show();
    await card.says("40 more");
    const field = document.querySelector<HTMLInputElement>("input[name=not]");
    if (!field) throw new Error("no field");
    expect(field.value).toBe("n2");
    field.value = " n7 ";
    field.form?.requestSubmit();
    await vi.waitFor(() => expect(card.asked).toContain(`${ASKED}?not=n7&again=false`), WAIT_MS);
    expect(router.hash).toContain("not=n7");
  });

  it("links numbers to the rows they are from", async () => {
    show();
    await card.says("40 more");
    const part = [...document.querySelectorAll("a")].find((one) => one.textContent === "+46");
    expect(part?.getAttribute("href")).toContain("node=n2&order=score%3ANodeResourcesFit");
    part?.click();
    expect(followed).toEqual([true]);
  });

  it("keeps what is stored where the moment has been cleared away", async () => {
    show(410);
    await card.says("40 more");
    ask()?.click();
    await card.says("history begins at 5.9");
    expect(card.text()).toContain("40 more");
  });

  it("offers nothing more in a mirror", async () => {
    show(WHY, true);
    await card.says("40 more");
    expect(ask()).toBeUndefined();
  });
});
