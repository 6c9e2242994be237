import { describe, expect, it } from "vitest";
import type { PreemptionTold, Turning } from "../contract/api.gen";
import { TURN, WHY } from "../views/__fixtures__/pendingWhy";
import { written } from "../views/__fixtures__/written";
import { keepingText, type Links, preemptionText, sinceTexts, waitsText, wakerText } from "./pendingWhy";

const links: Links = { rows: (plugin) => plugin, entry: ({ name }) => `changes of ${name}` };
const turning = (more: Partial<Turning>): string[] =>
  sinceTexts({ ...WHY, since: null, turning: { ...(WHY.turning as Turning), ...more } }, links).map(written);

describe("why a pod has no node", () => {
  it("names the change that made it unschedulable, with its link and the proof", () => {
    const [change, proof] = turning({});
    expect(change).toContain("Made unschedulable by entry 12<changes of n1>: Node [n1] was changed by ann");
    expect(proof).toBe("Just before it the pod fits on 1 node ([n1]), with it on none: proven by two runs.");
    const [pod, alike] = turning({
      turn: { ...TURN, kind: "Pod", namespace: "d", existed: false, operation: "created" },
    });
    expect(pod).toContain("Pod d/n1 was created by ann");
    expect(alike).toContain("a pod like this one fits");
  });

  it.each<[Turning["verdict"], string]>([
    ["fits", "By what was stored it fits"],
    ["never", "It fitted at none of 7 moments tried, back to the first."],
    ["cut", "back to entry 3, where history begins."],
    ["late", "not found in time"],
    ["unproven", "a second engine says otherwise"],
  ])("says so where the search ends with %s", (verdict, want) => {
    const [created, found] = turning({ verdict, turn: null, begins: 3, fitted_then: false });
    expect(created).toBe("It was created when it fitted nowhere.");
    expect(found).toContain(want);
  });

  it("says since when, as far as that is stored", () => {
    const text = (is_cut: boolean) =>
      written(
        sinceTexts({ ...WHY, turning: null, since: { at: TURN.at, seq: 1, attempts: 2, is_cut } }, links)[0] ?? [],
      );
    expect(text(false)).toMatch(/^In vain since .*: 2 attempts in a row\.$/);
    expect(text(true)).toMatch(/^In vain at least since/);
  });

  it("links the nodes that a reason keeps it from to their rows", () => {
    const [reason] = WHY.judged?.reasons ?? [];
    if (!reason) throw new Error("no reason");
    expect(written(keepingText(reason, links))).toBe(
      "NodeUnschedulable: node(s) were unschedulable: 3<NodeUnschedulable>, alone 2",
    );
  });

  it.each<[PreemptionTold["outcome"], string]>([
    ["found", "1 pod is evicted on [n1]"],
    ["failed", "on 2 nodes in vain: Insufficient cpu (2)"],
    ["noHelp", "would lift no node's rejection"],
    ["never", "the pod's policy is Never"],
    ["terminating", "still leaving"],
    ["other", "Preemption: words"],
    ["notAsked", "was not asked"],
  ])("says what preemption came to: %s", (outcome, want) => {
    const found = { ...(WHY.preemption as PreemptionTold), outcome, node: "n1", victims: ["d/x"], message: "words" };
    expect(written(preemptionText(found))).toContain(want);
  });

  it("says what it waits for", () => {
    const waits = WHY.waits;
    const [waker] = waits?.wakers ?? [];
    if (!waits || !waker) throw new Error("it waits for nothing");
    expect(written(waitsText(WHY))).toContain("at the latest");
    expect(written(waitsText({ ...WHY, waits: { ...waits, queue: "gated", plugins: ["G"] } }))).toContain("gates: G");
    expect(written(waitsText({ ...WHY, waits: { ...waits, retried_at: null } }))).toContain("as soon as");
    expect(waitsText({ ...WHY, waits: null })).toEqual([]);
    expect(written(wakerText(waker))).toBe(
      "NodeUnschedulable: a node is added, a node's taints change, if that can help",
    );
  });

  it.each([
    ["Node", "Delete", "a node is deleted"],
    ["Pod", "UpdatePodGeneratedResourceClaim", "a claim is made for it"],
    ["storage.k8s.io/CSINode", "Update", "a CSINode changes"],
    ["PersistentVolumeClaim", "All", "anything happens to a PersistentVolumeClaim"],
    ["Node", "ShiftOfTheMoon", "Node ShiftOfTheMoon"],
  ])("names what would wake it: %s %s", (resource, action, want) => {
    const waker = { plugin: "X", resource, actions: [action], has_hint: false };
    expect(written(wakerText(waker))).toBe(`X: ${want}`);
  });
});
