import { afterEach, describe, expect, it } from "vitest";
import type { Amounts } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { CPU } from "./__fixtures__/amounts";
import { quantities, type Sentence, sentenceAlone, sentenceOnNode, sentencesOf } from "./amounts";

/** Of many nodes. */
const MANY: Amounts = { ...CPU, nodes: 1203, only: 37, nearest: 15_850, nearest_node: "node-7" };

const text = (sentence: Sentence): string =>
  sentence.map((part) => ("text" in part ? part.text : "node" in part ? `[${part.node}]` : `<${part.pod}>`)).join("");
const said = (about: Partial<Amounts>): readonly string[] => sentencesOf({ ...MANY, only: 0, ...about }).map(text);

afterEach(() => i18n.use("en"));

describe("sentences about amounts", () => {
  it("say what was asked, the most that was free and where, and who lacks only that", () => {
    expect(sentencesOf(MANY).map(text)).toEqual([
      "Asks 31; the most free is 15.85 of 16, on [node-7].",
      "37 nodes lack only cpu, the nearest by 15.15: [node-7].",
    ]);
  });

  it.each([
    [{ kind: "pods", capacity: 110, only: 2 }, "All places for pods are taken; [node-7] has 110."],
    [
      { kind: "taint", subject: "team=a:NoSchedule", nodes: 3 },
      "Not tolerated: team=a:NoSchedule, on 3 nodes such as [node-7].",
    ],
    [
      { kind: "label", subject: "disk in (ssd)", nodes: 4, values: [{ value: "hdd", count: 3 }], without: 1 },
      "Wanted: disk in (ssd). On 4 nodes: hdd (3), no such label (1).",
    ],
    [
      { kind: "label", subject: "metadata.name in (a)", nodes: 4 },
      "Wanted: metadata.name in (a); 4 nodes do not match.",
    ],
    [
      { kind: "port", subject: "80/TCP", nodes: 2, pod: "default/web" },
      "Port 80/TCP is taken on 2 nodes; on [node-7] <default/web> has it.",
    ],
    [
      { kind: "cordon", subject: "k:NoSchedule", nodes: 2 },
      "Cordoned: 2 nodes such as [node-7]; the pod does not tolerate k:NoSchedule.",
    ],
    [
      {
        kind: "spread",
        subject: "zone (app in (web))",
        nodes: 3,
        asked: 1,
        there: 2,
        values: [{ value: "a", count: 4 }],
      },
      "Spread by zone (app in (web)): the emptiest has 2 pods, maxSkew is 1; too full on 3 nodes: a (4).",
    ],
    [{ kind: "noKey", subject: "zone", nodes: 2 }, "No label zone on 2 nodes such as [node-7]."],
    [
      { kind: "near", subject: "zone (app in (web))", nodes: 2, there: 0 },
      "To be near, by zone (app in (web)): 0 such pods in all, none near 2 nodes such as [node-7].",
    ],
    [
      { kind: "apart", subject: "host (app in (web))", nodes: 2, pod: "default/web" },
      "To be apart, by host (app in (web)): on 2 nodes; <default/web> stands against [node-7].",
    ],
    [
      { kind: "keptApart", subject: "host", nodes: 2, pod: "default/db" },
      "<default/db> is to be apart from this pod, by host, which keeps [node-7] from it: 2 nodes in all are kept so.",
    ],
    [
      { kind: "volume", subject: "pv-1 (zone in (a))", nodes: 2 },
      "Out of reach of volume pv-1 (zone in (a)): 2 nodes such as [node-7].",
    ],
    [
      { kind: "limit", subject: "ebs.csi.aws.com", asked: 2, there: 1, capacity: 25 },
      "2 more volumes of ebs.csi.aws.com; the most room is 1 of 25, on [node-7].",
    ],
    [
      { kind: "disk", subject: "data", nodes: 2, pod: "default/db" },
      "Disk of volume data is in use on 2 nodes; on [node-7] <default/db> uses it.",
    ],
    [
      { kind: "claim", subject: "default/c", pod: "default/db" },
      "Claim default/c is for one pod, and <default/db> uses it.",
    ],
  ] as const)("of %o", (about, want) => expect(said(about)[0]).toBe(want));

  it.each([
    [{ only: 1 }, "Asks 31; 15.85 of 16 are free on [node-7].", "[node-7] lacks only cpu, by 15.15."],
    [{ kind: "taint", subject: "team=a:NoSchedule" }, "Not tolerated: team=a:NoSchedule, on [node-7]."],
    [{ kind: "cordon", subject: "k:NoSchedule" }, "Cordoned: [node-7]; the pod does not tolerate k:NoSchedule."],
    [
      { kind: "label", subject: "metadata.name not in (a)" },
      "Wanted: metadata.name not in (a); 1 node does not match.",
    ],
    [
      { kind: "port", subject: "80/TCP", pod: "default/web" },
      "Port 80/TCP is taken on [node-7]: <default/web> has it.",
    ],
    [{ kind: "port", subject: "80/TCP" }, "Port 80/TCP is taken on [node-7]."],
    [{ kind: "noKey", subject: "zone" }, "No label zone on [node-7]."],
    [
      { kind: "near", subject: "zone (app in (web))", there: 1 },
      "To be near, by zone (app in (web)): 1 such pod in all, none near [node-7].",
    ],
    [
      { kind: "apart", subject: "host (app in (web))", pod: "default/web" },
      "To be apart, by host (app in (web)): <default/web> stands against [node-7].",
    ],
    [
      { kind: "keptApart", subject: "host", pod: "default/db" },
      "<default/db> is to be apart from this pod, by host, which keeps [node-7] from it.",
    ],
    [{ kind: "volume", subject: "pv-1 (zone in (a))" }, "Out of reach of volume pv-1 (zone in (a)): [node-7]."],
    [
      { kind: "disk", subject: "data", pod: "default/db" },
      "Disk of volume data is in use on [node-7]: <default/db> uses it.",
    ],
  ] as const)("of one node name it instead of counting: %o", (about, ...want) =>
    expect(said({ nodes: 1, ...about })).toEqual(want),
  );

  it("name the nearest where it alone lacks nothing else", () => {
    expect(said({ only: 1 })[1]).toBe("[node-7] lacks only cpu, by 15.15.");
  });

  it("say that nothing is free of what is overcommitted", () => {
    expect(said({ there: -56_000, capacity: 8_000 })[0]).toBe("Asks 31; the most free is 0 of 8, on [node-7].");
    expect(text(sentenceOnNode({ ...MANY, there: -1 }))).toBe("asks 31 cpu; 0 of 16 are free.");
  });

  it("say of a node that has none of it that it has none", () => {
    const none = { subject: "example.com/gpu", asked: 2, there: 0, capacity: 0 };
    expect(said(none)[0]).toBe("Asks 2; none is free, and [node-7] has none at all.");
    expect(said({ ...none, nodes: 1 })[0]).toBe("Asks 2; [node-7] has none.");
    expect(text(sentenceOnNode({ ...MANY, ...none }))).toBe("asks 2 example.com/gpu; the node has none.");
  });

  it("of a single node name no other", () => {
    expect(text(sentenceOnNode(MANY))).toBe("asks 31 cpu; 15.85 of 16 are free.");
  });

  it.each([
    [{ values: [{ value: "hdd", count: 1 }] }, "wanted: disk in (ssd); there: hdd."],
    [{ values: [{ value: "", count: 1 }] }, 'wanted: disk in (ssd); there: "".'],
    [{ without: 1 }, "wanted: disk in (ssd); there: no such label."],
    [{ subject: "metadata.name in (n1)" }, "wanted: metadata.name in (n1)."],
  ])("of a single node count nothing: %o", (about, want) =>
    expect(text(sentenceOnNode({ ...MANY, kind: "label", subject: "disk in (ssd)", nodes: 1, ...about }))).toBe(want),
  );

  it("are there in Chinese", async () => {
    await i18n.use("zh-Hans");
    expect(said({})[0]).toBe("请求 31；空闲最多的是 [node-7]：16 中的 15.85。");
  });
});

describe("quantities", () => {
  it.each([
    ["cpu", [250, 15_850, 0, -500], ["250m", "15.85", "0", "-500m"]],
    ["cpu", [4_000_000, 1_234_567], ["4,000", "1,234.567"]],
    ["memory", [1 << 30, 3 << 28], ["1 Gi", "768 Mi"]],
    ["memory", [2 ** 35, 34_326_183_936, 2 ** 35], ["32 Gi", "31.97 Gi", "32 Gi"]],
    ["memory", [2 ** 60, 2 ** 34], ["1 Ei", "16 Gi"]],
    ["memory", [2 ** 33, 2 ** 33 - 1], ["8,589,934,592 B", "8,589,934,591 B"]],
    ["example.com/gpu", [8, 0], ["8", "0"]],
  ] as const)("of %s tell apart what differs", (resource, values, want) =>
    expect(quantities(resource, values)).toEqual(want),
  );
});

describe("a sentence about one node that stands alone", () => {
  it("begins as sentences do, and leaves names as they are", () => {
    expect(text(sentenceAlone({ ...MANY, nodes: 1 }))).toMatch(/^Asks 31 cpu; /);
    expect(text(sentenceAlone({ ...MANY, kind: "taint", subject: "team=a:NoSchedule" }))).toMatch(/^team=a/);
    expect(text(sentenceAlone({ ...MANY, kind: "port", subject: "80", pod: "d/p" }))).toMatch(/^<d\/p>/);
  });
});
