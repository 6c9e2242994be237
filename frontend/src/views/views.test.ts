import { describe, expect, it } from "vitest";
import type { Attempt } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { PHASES } from "../lib/phases";
import { attemptText } from "../lib/words";
import { ATTEMPT, REPEATED } from "./__fixtures__/attempts";
import { close, found, hrefs, said, show, texts } from "./__fixtures__/shown";
import AttemptCard from "./pod/AttemptCard.svelte";
import AttemptList from "./pod/AttemptList.svelte";

const PLACED: Attempt = {
  ...ATTEMPT,
  result: "scheduled",
  node_name: "n1",
  message: "",
  feasible: 2,
  tied: 1,
  rejections: [],
  best: [
    { node: "n1", total: 180, scores: { NodeResourcesFit: 90, TaintToleration: 90 } },
    { node: "n2", total: 90, scores: { NodeResourcesFit: 0, TaintToleration: 90 } },
  ],
};

const PREEMPTING: Attempt = {
  ...ATTEMPT,
  nominated_node_name: "n7",
  preemption: {
    tried: 24,
    candidates: 9,
    tied: 3,
    node: "n7",
    victims: ["studio/a", "studio/b"],
    num_victims: 5,
    num_pdb_violations: 1,
    decided_by: "",
    cleared: ["web/later"],
  },
};

const card = (attempt: Attempt, last = true) => show(AttemptCard, { attempt, clusterId: 1, last });
/** What each element is coloured with that a selector finds. */
const colours = (selector: string) =>
  [...document.querySelectorAll<HTMLElement>(selector)].map((part) => part.style.background);

describe("AttemptCard", () => {
  it("says why not in plain words, the most frequent reason first", () => {
    card(ATTEMPT);
    expect(said()).toContain(
      "Most common reason: Insufficient cpu (NodeResourcesFit), on 53 of 60 nodes. None of 60 nodes could take it.",
    );
    expect(texts("li .reason")).toEqual(["Insufficient cpu", "node(s) were unschedulable"]);
  });

  it("counts a reason once, whatever codes it came with", () => {
    const refused = { plugin: "NodeResourcesFit", reason: "Insufficient example.com/gpu-milli", amounts: [] };
    const cordoned = { plugin: "NodeUnschedulable", reason: "node(s) were unschedulable", amounts: [] };
    const rejections = [
      { ...cordoned, code: "Unschedulable", count: 25 },
      { ...refused, code: "UnschedulableAndUnresolvable", count: 20 },
      { ...refused, code: "Unschedulable", count: 15 },
    ];
    card({ ...ATTEMPT, rejections });
    expect(said()).toContain(
      "Most common reason: Insufficient example.com/gpu-milli (NodeResourcesFit), on 35 of 60 nodes.",
    );
    const items = [...document.querySelectorAll("li .reason")].map((element) => element.closest("li"));
    expect(items.map((item) => item?.querySelector(".count")?.textContent)).toEqual(["35 nodes", "25 nodes"]);
    expect(items[0]?.textContent).toContain("UnschedulableAndUnresolvable: 20 nodes");
  });

  it("counts no nodes where a pod was refused before any was evaluated", () => {
    const code = "UnschedulableAndUnresolvable";
    const refused = { plugin: "VolumeBinding", reason: "no claim", code, count: 12, amounts: [] };
    const attempt: Attempt = { ...ATTEMPT, evaluated: 0, rejections: [refused] };
    expect(attemptText(attempt)).toBe("");
    card({ ...attempt, message: "" });
    expect(texts("li:has(.reason) .count")).toEqual(["whatever the node"]);
    expect(document.body.innerHTML).not.toContain("12");
  });

  it("has number, time and duration of the last of equal attempts, and says since which it is so", () => {
    const headed = (attempt: Attempt, last: boolean) => {
      card(attempt, last);
      const [head] = texts(".head .note");
      const label = found("section").getAttribute("aria-label");
      const phases = document.querySelector(".phases")?.getAttribute("aria-label");
      close();
      return { head, label, phases };
    };
    const [first, again] = [ATTEMPT.started_at, REPEATED.last_seen_at].map((at) => i18n.moment(Date.parse(at)));
    const { head, label, phases } = headed(REPEATED, false);
    expect(head).toBe(`#25 · ${again} · took 6.2 ms · same result since #2, ${first} (took 1.83 ms)`);
    expect(label).toBe("Attempt 25");
    expect(phases).toContain("6.2 ms");
    expect(headed({ ...REPEATED, last_duration_us: null, last_durations: {} }, true).head).toBe(
      `#25 · ${again} · same result since #2, ${first} (took 1.83 ms)`,
    );
    expect(headed(ATTEMPT, true).head).toBe(`#2 · ${first} · took 1.83 ms`);
  });

  it("stacks the scores of the best nodes and marks the chosen one", () => {
    card(PLACED);
    const rows = [...document.querySelectorAll("ol > li")];
    expect(rows.map((row) => row.querySelectorAll(".part").length)).toEqual([2, 1]);
    expect(rows[0]?.textContent).toContain("chosen");
    expect(rows[1]?.textContent).not.toContain("chosen");
  });
});

describe("AttemptCard of a pod with one feasible node", () => {
  it("shows no scores, since there are none", () => {
    const attempt: Attempt = { ...PLACED, feasible: 1, tied: null, best: [{ node: "n1", total: null, scores: {} }] };
    card(attempt);
    expect(said()).toContain("n1 was the only one, so no scores were needed.");
    expect(said()).not.toContain("Best nodes by score");
  });
});

describe("AttemptCard of a pod that was placed where room was made for it", () => {
  const first: Attempt = { ...PLACED, evaluated: 1, feasible: 1, tied: null, best: [], tried_first: true };

  it("says which attempt made the room, with a link", () => {
    const attempt = { ...first, nominated_by: { seq: 4, attempt: 1, num_victims: 3 } };
    card(attempt);
    const link = document.querySelector("header a, .attempt > p a");
    expect([link?.textContent, link?.getAttribute("href")]).toEqual([
      "Tried first: nominated by attempt #1, which evicted 3 pods.",
      "#/clusters/1/pods/default/web/attempts/1",
    ]);
    expect(document.body.textContent).not.toContain("the only one");
  });
});

describe("colours", () => {
  const ofPhases = (durations: Record<string, number>) => {
    card({ ...ATTEMPT, last_durations: durations });
    const seen = colours(".phases span");
    close();
    return seen;
  };

  it("are of a phase, whatever other phases a cycle had", () => {
    const [filter] = ofPhases({ filter: 10 });
    expect(filter).toBeTruthy();
    expect(ofPhases({ snapshot: 1, pre_filter: 2, filter: 10 })[2]).toBe(filter);
    expect(new Set(ofPhases(Object.fromEntries(PHASES.map((phase) => [phase, 1])))).size).toBe(PHASES.length);
  });

  it("stand in the order of the phases, whatever the service sends first", () => {
    const [filter, score] = [ofPhases({ filter: 1 })[0], ofPhases({ score: 1 })[0]];
    expect(ofPhases({ score: 2, filter: 1 })).toEqual([filter, score]);
  });

  it("are of a plugin, whatever other plugins scored", () => {
    const ofTaints = (scores: Record<string, number>) => {
      card({ ...PLACED, best: [{ node: "n1", total: 9, scores }] });
      const [seen] = colours('.part[title^="TaintToleration"]');
      close();
      return seen;
    };
    const alone = ofTaints({ TaintToleration: 9 });
    expect(alone).toBeTruthy();
    expect(ofTaints({ ImageLocality: 1, InterPodAffinity: 2, TaintToleration: 9 })).toBe(alone);
  });
});

describe("ScoreBars", () => {
  it("marks the nodes that tied and counts those that are not shown", () => {
    const best = [...PLACED.best, { node: "n3", total: 10, scores: { TaintToleration: 10 } }];
    const attempt: Attempt = { ...PLACED, feasible: 3, tied: 2, best };
    card(attempt);
    const rows = [...document.querySelectorAll("ol > li")].map((row) => row.textContent?.includes("tied"));
    expect(rows).toEqual([true, true, false]);
    expect(said()).not.toContain("more with the same");
    close();
    card({ ...attempt, tied: 12 });
    expect(said()).toContain("9 more nodes with the same total score");
  });
});

describe("AttemptList", () => {
  it("counts repeats, which are no rows of their own", () => {
    const attempts = [REPEATED, { ...ATTEMPT, seq: 3, attempt: 1, last_attempt: 1 }];
    const unused = { open: undefined, hasOlder: false, onolder: () => undefined, hrefOf: () => "#" };
    show(AttemptList, { attempts, pagesIn: 1, ...unused });
    expect(document.querySelector("h3")?.textContent).toBe("All attempts · 25");
    const [first] = document.querySelectorAll("li");
    expect(first?.querySelector(".page a")?.getAttribute("href")).toBe(`#/clusters/1/attempts/${REPEATED.seq}`);
    expect(first?.querySelector(".number")?.textContent).toBe("#25");
    expect(first?.querySelector("time")?.getAttribute("datetime")).toBe(REPEATED.last_seen_at);
    const again = first?.querySelector(".again");
    const since = i18n.moment(Date.parse(REPEATED.started_at));
    expect([again?.textContent, again?.getAttribute("title")]).toEqual(["×24", `same result since #2, ${since}`]);
  });
});

describe("Preemption", () => {
  it("names node and victims, each a link, and what it cost", () => {
    card(PREEMPTING);
    expect(texts(".preemption a")).toEqual(["n7", "studio/a", "studio/b", "web/later"]);
    const paths = ["nodes/n7", "pods/studio/a", "pods/studio/b", "pods/web/later"];
    expect(hrefs(".preemption a")).toEqual(paths.map((path) => `#/clusters/1/${path}`));
    for (const text of [
      "24 nodes were tried",
      "candidates: 9",
      "and 3 more",
      "1 victim more than allowed",
      "3 nodes were equal in all criteria",
    ])
      expect(found(".preemption").textContent).toContain(text);
  });

  it("says so when nobody's going would help", () => {
    const nobody = { node: "", victims: [], num_victims: 0, num_pdb_violations: 0, cleared: [] };
    card({ ...ATTEMPT, preemption: { tried: 4, candidates: 0, tied: 0, decided_by: "", ...nobody } });
    expect(found(".preemption").textContent).toContain("the pod would fit on none of them");
    expect(document.querySelectorAll(".preemption a").length).toBe(0);
  });

  it("is left out when no victims were looked for", () => {
    card(ATTEMPT);
    expect(document.querySelector(".preemption")).toBeNull();
  });
});

describe("attemptText", () => {
  it.each<[string, Partial<Attempt>, string]>([
    [
      "room is made for it",
      { nominated_node_name: "n7" },
      "It is nominated to n7, where victims are evicted to make room.",
    ],
    ["no node could take it", {}, "None of 60 nodes could take it."],
    ["it was placed", PLACED, "Placed on n1. Nodes evaluated: 60; feasible: 2."],
    ["it failed", { result: "error" }, "ended with an error"],
    ["it was skipped", { result: "skipped" }, "nothing was decided"],
    ["nobody is responsible", { result: "noProfile" }, "No profile"],
  ])("tells when %s", (_when, more, want) => expect(attemptText({ ...ATTEMPT, ...more })).toContain(want));
});
