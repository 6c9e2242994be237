import { describe, expect, it } from "vitest";
import type { Amounts, EvictionCause, PodEvicted } from "../contract/api.gen";
import { EVICTED, RECORDED, SEARCH, VICTIM } from "../views/__fixtures__/evictedWhy";
import { written } from "../views/__fixtures__/written";
import { CPU } from "./__fixtures__/amounts";
import { causeTexts, costSentence, type Links, searchTexts, triedNotes, triedText } from "./evictedWhy";

const links: Links = {
  entry: ({ rv }) => `entry ${rv}`,
  nodeEntry: ({ rv }, node) => `${node} ${rv}`,
  attempt: (seq) => `attempt ${seq}`,
};
const LACKING: Amounts = { ...CPU, asked: 7_000, there: 2_000, node: "n2", capacity: 4_000, only: 1 };
const CAUSE: EvictionCause = {
  rv: 7,
  operation: "updated",
  actor: "node-controller",
  at: "2026-01-01T00:00:00Z",
  taint: "gpu=broken:NoExecute",
  seconds: null,
  is_cut: false,
};
const causes = (more: Partial<PodEvicted>) => causeTexts({ ...EVICTED, ...more }, links).map(written);

describe("why a pod was evicted", () => {
  it("says for whom, and by which entry", () => {
    const [cause, forWhom] = causes({});
    expect(cause).toContain("Preempted on [n2] by scheduler");
    expect(cause).toContain("entry 12<entry 12>");
    expect(forWhom).toBe("It makes room for default/high, of priority 100; its own priority is 0.");
    expect(causes(RECORDED)[1]).toBe("It makes room for default/high; its own priority is 0.");
    expect(causes({ preemptor: "uid-1" })[1]).toContain("uid-1");
  });

  it.each<[PodEvicted["by"], string]>([
    ["taint", "for a taint it does not tolerate"],
    ["api", "Eviction API"],
    ["kubelet", "Ended by the kubelet of [n2]"],
    ["podGC", "is gone"],
    ["deleted", "Deleted by scheduler"],
  ])("says who had it deleted: %s", (by, want) => {
    const [cause, ...others] = causes({ by, preemptor: "", preemption: null });
    expect(cause).toContain(want);
    expect(others).toEqual([]);
  });

  it("names the taint and since when the node has had it, the drain, the node that is gone, and budgets", () => {
    const behind = (by: PodEvicted["by"], cause: Partial<EvictionCause>) =>
      causes({ by, preemptor: "", preemption: null, cause: { ...CAUSE, ...cause } }).slice(1);
    expect(behind("taint", {})[0]).toMatch(
      /^\[n2\] has had the taint gpu=broken:NoExecute since entry 7<n2 7> by node-/,
    );
    expect(behind("taint", { seconds: 300 })[1]).toBe("The pod tolerated it for 300 seconds.");
    expect(behind("taint", { is_cut: true })[0]).toContain("since before entry 7");
    expect(behind("api", { taint: "", actor: "ann" })[0]).toMatch(/^ann had \[n2\] drained/);
    expect(behind("podGC", { taint: "", operation: "deleted", actor: "ann" })[0]).toMatch(/^n2 was deleted by ann/);
    const budgets = [{ namespace: "shop", name: "web", left: 1 }];
    expect(causes({ by: "api", preemptor: "", preemption: null, budgets })[1]).toBe(
      "It was counted against the budget shop/web, which allows 1 disruption after it.",
    );
  });

  it("says what is not stored any more", () => {
    expect(causes({ preemption: null, is_cut: true }).slice(1)).toEqual([
      "It was to go already before this entry; what was before is not stored any more.",
      "It makes room for default/high; its own priority is 0.",
      "The attempt that chose it is not stored.",
    ]);
  });

  it("says which criterion decided, with its figure", () => {
    expect(searchTexts(SEARCH, links).map(written)).toEqual([
      "3 candidates among 4 nodes where evictions could help, in its attempt 1<attempt 9>.",
      "1 node in vain: No preemption victims found for incoming pod",
      "[n2] costs the least by “Highest priority”: highest priority 0.",
    ]);
    const more = { untried: 7, asks_extenders: true, criterion: "", tied: 2, refusals: [] } as const;
    expect(
      searchTexts({ ...SEARCH, ...more }, links)
        .map(written)
        .slice(1),
    ).toEqual([
      "7 nodes were not tried: enough candidates had been found.",
      "Extenders had a say in which candidates were left.",
      "[n2] is the first of 2 nodes that no criterion tells apart.",
    ]);
    expect(written(searchTexts({ ...SEARCH, criterion: "", refusals: [] }, links)[1] ?? [])).toBe(
      "[n2] was the only candidate: 1 victim.",
    );
    const named = searchTexts({ ...SEARCH, node: "n9", refusals: [] }, links).map(written);
    expect(named.slice(1)).toEqual(["[n9] costs the least by “Highest priority”."]);
    const recorded = RECORDED.preemption;
    expect(recorded && written(searchTexts(recorded, links)[2] ?? [])).toBe(
      "[n2] costs the least by “Highest priority”.",
    );
  });

  it("says what each alternative would have cost", () => {
    const [taken, dear, guarded] = SEARCH.costs;
    if (!taken || !dear || !guarded) throw new Error("no costs");
    expect(written(costSentence(dear, taken, true))).toBe("[n3]: highest priority 5 instead of highest priority 0");
    expect(written(costSentence(guarded, taken, true))).toBe("[n1]: 1 budget violation instead of 0 budget violations");
    expect(written(costSentence({ ...taken, node: "n5" }, taken, true))).toBe("[n5]: the same; it comes later");
    expect(written(costSentence({ ...taken, node: "n5" }, taken, false))).toBe("[n5]: 0 budget violations, 1 victim");
    const falls = (falls_by: typeof taken.falls_by) => written(costSentence({ ...taken, falls_by }, taken, true));
    expect(falls("sum_of_priorities")).toContain("sum of priorities 2,147,483,648");
    expect(falls("latest_start")).toContain("running since");
  });

  it("says who was spared, and who could not be", () => {
    const [kept] = SEARCH.pods;
    if (!kept) throw new Error("no pods");
    expect(written(triedText(kept))).toBe("default/kept, priority 1: spared");
    expect(triedNotes(kept)).toEqual([]);
    expect(written(triedText(VICTIM))).toBe("default/web, priority 0: not spared: NodeResourcesFit: Insufficient cpu.");
    expect(written(triedText({ ...VICTIM, amounts: [LACKING] }))).toBe(
      "default/web, priority 0: not spared: NodeResourcesFit: Insufficient cpu: asks 7 cpu; 2 of 4 are free.",
    );
    const budgets = [{ namespace: "d", name: "b", allowed: 1, place: 2 }];
    expect(triedNotes({ ...VICTIM, budgets }).map(written)).toEqual([
      "Budget d/b allows 1 disruption, it is number 2: a violation.",
      "The preemptor fits beside it when all others of lower priority go: those before it were preferred.",
    ]);
    expect(
      written(triedNotes({ ...VICTIM, budgets: [{ namespace: "d", name: "b", allowed: 2, place: 2 }] })[0] ?? []),
    ).toBe("Budget d/b allows 2 disruptions, it is number 2.");
    expect(written(triedNotes({ ...VICTIM, alone: false })[0] ?? [])).toContain("whoever else goes");
    expect(written(triedNotes({ ...VICTIM, needless: true })[0] ?? [])).toContain("need not have gone");
  });
});
