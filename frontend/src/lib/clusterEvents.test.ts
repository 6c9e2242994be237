import { afterEach, describe, expect, it } from "vitest";
import en from "../i18n/en.json";
import { i18n } from "../i18n/index.svelte";
import { eventText, phaseName, phaseText } from "./clusterEvents";

afterEach(() => i18n.use("en"));

describe("eventText", () => {
  it.each([
    ["ScheduleAttemptFailure", "An attempt at the pod failed, so it was put back into the queue."],
    ["AssignedPodDelete", "A pod on a node was deleted or ended, so there is room again."],
    ["NodeUpdateNodeTaint", "The taints of a node were changed, or it was uncordoned."],
    ["PersistentVolumeClaimAdd", "A PersistentVolumeClaim (what pods ask of storage) was created."],
    ["storage.k8s.io/CSINodeUpdate", "A CSINode (the storage drivers of a node) was changed."],
    ["resource.k8s.io/DeviceClassDelete", "A DeviceClass (which devices claims may choose from) was deleted."],
    ["an event of a plugin's own", null],
    ["", null],
  ])("of %s", (label, want) => expect(eventText(label)).toBe(want));

  it("is in the reader's language", async () => {
    await i18n.use("zh-Hans");
    expect(eventText("NodeAdd")).toBe("集群加入了一个节点。");
    expect(eventText("storage.k8s.io/CSINodeAdd")).toBe("一个 CSINode（节点上的存储驱动）被创建。");
  });
});

describe("phases", () => {
  it.each(Object.keys(en).filter((key) => key.startsWith("phase.")))("%s has words", (key) => {
    expect(phaseText(key.slice("phase.".length))).toBe(en[key as keyof typeof en]);
  });
  it("are called as extension points are", () => {
    expect(["pre_filter", "score"].map(phaseName)).toEqual(["PreFilter", "Score"]);
    expect(phaseText("of another version")).toBeNull();
  });
});
