import { flushSync, mount, tick, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Cluster, SchedulerConfig } from "../../contract/api.gen";
import { CLUSTER as TEST_CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { router } from "../../state/route.svelte";
import ConfigDialog from "./ConfigDialog.svelte";
import { configHref, configView } from "./view";

const CLUSTER: Cluster = { ...TEST_CLUSTER, id: 7, name: "lab", config_version: 2 };
const CONFIG: SchedulerConfig = {
  version: 2,
  replayable: false,
  actor: "ada",
  at: "2026-11-21T08:00:00Z",
  text: "kind: KubeSchedulerConfiguration\n",
  problems: [],
  effective: {
    pod_initial_backoff_seconds: 1,
    pod_max_backoff_seconds: 10,
    replayable: false,
    profiles: [
      {
        scheduler_name: "default-scheduler",
        percentage_of_nodes_to_score: 0,
        points: [
          { point: "filter", plugins: [{ name: "NodeName", weight: null }] },
          { point: "score", plugins: [{ name: "RackAware", weight: 5 }] },
          { point: "permit", plugins: [] },
        ],
        left_out: [],
        not_deterministic: ["RackAware"],
        ends_reuse: ["RackAware"],
        replayable: false,
      },
    ],
  },
};
const VERSIONS = [
  { version: 2, replayable: false, actor: "ada", at: CONFIG.at },
  { version: 1, replayable: true, actor: "system", at: CONFIG.at },
];

let made: ReturnType<typeof mount> | null = null;
let sent: { method: string; url: string; body: string }[] = [];
let refusal: unknown = null;
let inForce = CONFIG;

beforeEach(() => {
  inForce = CONFIG;
  sent = [];
  refusal = null;
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname: url } = new URL(request.url);
    sent.push({ method: request.method, url, body: await request.text() });
    if (request.method === "PUT" && refusal) return new Response(JSON.stringify(refusal), { status: 422 });
    if (url.endsWith("/versions")) return new Response(JSON.stringify({ results: VERSIONS, next: null }));
    if (url.endsWith("/versions/1")) return new Response(JSON.stringify({ ...CONFIG, version: 1, text: "" }));
    if (request.method === "PUT") inForce = { ...CONFIG, version: 3 };
    return new Response(JSON.stringify(inForce));
  });
});

afterEach(() => {
  if (made) void unmount(made);
  made = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await tick().then(() => new Promise((resolve) => setTimeout(resolve)));
  flushSync();
}

async function show(href = configHref(7)): Promise<void> {
  router.open(href);
  await settled();
  const { version } = configView.match(location.hash) ?? { version: null };
  made = mount(ConfigDialog, { target: document.body, props: { live: { cluster: CLUSTER } as State, version } });
  await settled();
}

/** The view as another address shows it: what the page does by itself. */
async function follow(): Promise<void> {
  if (made) void unmount(made);
  await show(location.hash);
}

async function press(name: string): Promise<void> {
  const found = [...document.querySelectorAll("button")].find((button) => button.textContent?.includes(name));
  if (!found) throw new Error(`no button ${name}`);
  found.click();
  await settled();
}

const text = () => document.body.textContent ?? "";

describe("ConfigDialog", () => {
  it("shows the text in force and that its decisions may not be repeated", async () => {
    await show();
    expect(document.querySelector("pre")?.textContent).toBe(CONFIG.text);
    expect(text()).toContain("Version 2, by ada");
    expect(text()).toContain("not replayable");
  });

  it("lists the plugins of each extension point that has any, with their weights", async () => {
    await show();
    await press("Effective configuration");
    expect([...document.querySelectorAll("dt")].map((each) => each.textContent)).toEqual(["filter", "score"]);
    expect(document.querySelectorAll("dd")[1]?.textContent?.trim()).toBe("RackAware×5");
    expect(text()).toContain("RackAware does not declare itself deterministic");
    expect(text()).toContain("RackAware does not declare depends_on");
  });

  it("lists every problem of a refused text and keeps the draft", async () => {
    refusal = { code: "invalid", message: "cannot be used", extra: { problems: ["a: Invalid", "b: Required"] } };
    await show();
    await press("Edit");
    await press("Apply");
    expect(sent.at(-1)).toEqual({ method: "PUT", url: "/api/clusters/7/scheduler-config", body: CONFIG.text });
    expect([...document.querySelectorAll(".problems li")].map((each) => each.textContent)).toEqual([
      "a: Invalid",
      "b: Required",
    ]);
    expect(document.querySelector("textarea")).not.toBeNull();
  });

  it("takes an old version back into force", async () => {
    await show();
    await press("Versions");
    expect(location.hash).toBe(`${configHref(7)}?tab=versions`);
    await press("Version 1");
    expect(location.hash).toBe(configHref(7, 1));
    await follow();
    expect(text()).toContain("no longer active");
    await press("Use this version again");
    expect(sent.filter((each) => each.method === "PUT").map((each) => each.body)).toEqual([""]);
    expect(location.hash).toBe(configHref(7));
    await follow();
    expect(text()).toContain("Version 3, by ada");
  });
});
