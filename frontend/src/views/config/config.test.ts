import { flushSync, tick } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CheckedConfig, Cluster, ConfigProblem, SchedulerConfig } from "../../contract/api.gen";
import { CLUSTER as TEST_CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { router } from "../../state/route.svelte";
import { close, show, texts } from "../__fixtures__/shown";
import ConfigDialog from "./ConfigDialog.svelte";
import { configHref, configView } from "./view";

const CLUSTER: Cluster = { ...TEST_CLUSTER, id: 7, name: "lab", config_version: 2 };
const CONFIG: SchedulerConfig = {
  version: 2,
  replayable: false,
  actor: "ada",
  at: "2026-11-21T08:00:00Z",
  text: "kind: KubeSchedulerConfiguration\n",
  complete: "kind: KubeSchedulerConfiguration\nparallelism: 16\n",
  problems: [],
  changes: [{ path: "parallelism", kind: "changed", before: "8", after: "16" }],
  is_in_use: true,
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

let sent: { method: string; url: string; body: string }[] = [];
let refusal: unknown = null;
let inForce = CONFIG;
let answerOfCheck: CheckedConfig = { complete: "", problems: [], changes: [] };
let held: Promise<void> | null = null; // what an answer to a text waits for

beforeEach(() => {
  inForce = CONFIG;
  sent = [];
  [refusal, held] = [null, null];
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname: url } = new URL(request.url);
    sent.push({ method: request.method, url, body: await request.text() });
    if (request.method === "PUT" && refusal) return new Response(JSON.stringify(refusal), { status: 422 });
    if (url.endsWith("/check")) return new Response(JSON.stringify(answerOfCheck));
    if (url.endsWith("/versions")) return new Response(JSON.stringify({ results: VERSIONS, next: null }));
    if (url.endsWith("/versions/1")) return new Response(JSON.stringify({ ...CONFIG, version: 1, text: "" }));
    if (request.method === "PUT") await held;
    if (request.method === "PUT") inForce = { ...CONFIG, version: 3, is_in_use: false };
    return new Response(JSON.stringify(inForce));
  });
});

afterEach(() => {
  // Drafts outlive the dialog.
  [...document.querySelectorAll("button")].find((button) => button.textContent === "Cancel")?.click();
  flushSync();
  vi.useRealTimers();
});

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await tick().then(() => new Promise((resolve) => setTimeout(resolve)));
  flushSync();
}

async function open(href = configHref(7), cluster = CLUSTER): Promise<void> {
  router.open(href);
  await settled();
  const { version } = configView.match(location.hash) ?? { version: null };
  show(ConfigDialog, { live: { cluster } as State, version });
  await settled();
}

/** The view as another address shows it: what the page does by itself. */
async function follow(): Promise<void> {
  close();
  await open(location.hash);
}

async function press(name: string): Promise<void> {
  const found = [...document.querySelectorAll("button")].find((button) => button.textContent?.includes(name));
  if (!found) throw new Error(`no button ${name}`);
  found.click();
  await settled();
}

async function type(words: string): Promise<void> {
  field().value = words;
  field().dispatchEvent(new Event("input", { bubbles: true }));
  await settled();
}

function field(): HTMLTextAreaElement {
  const found = document.querySelector("textarea");
  if (!found) throw new Error("nothing is edited");
  return found;
}

const problem = (parts: Partial<ConfigProblem>): ConfigProblem => ({
  path: "",
  line: null,
  message: "",
  found: "",
  expected: "",
  help: "",
  ...parts,
});

function refuse(...problems: Partial<ConfigProblem>[]): void {
  refusal = { code: "invalid", message: "cannot be used", extra: { problems: problems.map(problem) } };
}

const listed = () => texts(".problems li");
const marked = () => [...document.querySelectorAll(".mark")].map((each) => each.getAttribute("data-line"));
const selected = () => field().value.slice(field().selectionStart, field().selectionEnd);

const text = () => document.body.textContent ?? "";

describe("ConfigDialog", () => {
  it("shows the text in force and that its decisions may not be repeated", async () => {
    await open();
    expect(document.querySelector("pre")?.textContent).toBe(CONFIG.text);
    expect(text()).toContain("Version 2, by ada");
    expect(text()).toContain("not replayable");
  });

  it("lists the plugins of each extension point that has any, with their weights", async () => {
    await open();
    await press("Effective configuration");
    expect([...document.querySelectorAll("dt")].map((each) => each.textContent)).toEqual(["filter", "score"]);
    expect(document.querySelectorAll("dd")[1]?.textContent?.trim()).toBe("RackAware×5");
    expect(text()).toContain("RackAware does not declare itself deterministic");
    expect(text()).toContain("RackAware does not declare depends_on");
  });

  it("offers no change of a history from a file", async () => {
    await open(configHref(7), { ...CLUSTER, is_record: true });
    expect(text()).toContain("Version 2, by ada");
    expect(document.querySelector(".actions")).toBeNull();
  });

  it("lists every problem of a refused text, marks the lines and keeps the draft", async () => {
    refuse(
      { path: "parallelism", line: 2, message: "Invalid value: 0", expected: "more than zero" },
      { path: "", line: null, message: "is too large" },
    );
    await open();
    await press("Edit");
    await type("kind: x\nparallelism: 0\nprofiles: []\n");
    await press("Apply");
    expect(sent.at(-1)).toEqual({ method: "PUT", url: "/api/clusters/7/scheduler-config", body: field().value });
    expect(listed()).toEqual(["Line 2 parallelism Invalid value: 0 expected: more than zero", "is too large"]);
    expect(marked()).toEqual(["2"]);
    expect(field().value).toBe("kind: x\nparallelism: 0\nprofiles: []\n");
    expect(field().getAttribute("aria-invalid")).toBe("true");
    expect(document.getElementById(field().getAttribute("aria-describedby") ?? "")).not.toBeNull();
  });

  it("shows lines on how to put a problem right as they are", async () => {
    refuse(
      { path: "profiles[0].pluginConfig", line: 1, message: "expected a list", help: "- name: x\n  args: {}" },
      {},
    );
    await open();
    await press("Edit");
    await press("Apply");
    expect([...document.querySelectorAll(".problems pre")].map((each) => each.textContent)).toEqual([
      "- name: x\n  args: {}",
    ]);
  });

  it("leads from a problem to its line, which moves with the text until it is changed itself", async () => {
    refuse({ path: "parallelism", line: 2, message: "Invalid value: 0" });
    await open();
    await press("Edit");
    await type("kind: x\nparallelism: 0\nlast: 1");
    await press("Apply");
    await press("Line 2");
    expect(selected()).toBe("parallelism: 0");
    await type("# words\nkind: x\nparallelism: 0\nlast: 1");
    expect(marked()).toEqual(["3"]);
    await press("Line 3");
    expect(selected()).toBe("parallelism: 0");
    await type("# words\nkind: x\nparallelism: 4\nlast: 1");
    expect(marked()).toEqual([]);
    expect(listed()).toEqual(["line 2, changed since parallelism Invalid value: 0"]);
  });

  it("begins with the defaults in full where nothing was written", async () => {
    inForce = { ...CONFIG, text: "" };
    await open();
    expect(document.querySelector("pre")?.textContent).toBe(CONFIG.complete);
    await press("Edit");
    expect(field().value).toBe(CONFIG.complete);
  });

  it("goes back to the defaults, and brings the text back that stood there", async () => {
    answerOfCheck = { complete: "the: defaults\n", problems: [], changes: [] };
    await open();
    await press("Edit");
    await type("mine: 1\n");
    await press("Start from the defaults");
    expect(sent.at(-1)).toEqual({ method: "POST", url: "/api/clusters/7/scheduler-config/check", body: "" });
    expect(field().value).toBe("the: defaults\n");
    await press("Bring my text back");
    expect(field().value).toBe("mine: 1\n");
    await press("Write out every default");
    expect(sent.at(-1)?.body).toBe("mine: 1\n");
    expect(field().value).toBe("the: defaults\n");
  });

  it("checks a text without applying it", async () => {
    answerOfCheck = { complete: "x", problems: [], changes: [{ path: "a.b", kind: "added", before: "", after: "7" }] };
    await open();
    await press("Edit");
    await press("Check");
    expect(document.querySelector("[role=status]")?.textContent).toContain("a.b added: 7");
    expect(sent.some(({ method }) => method === "PUT")).toBe(false);
    await type("other: 1");
    expect(document.querySelector("[role=status]")).toBeNull();
    answerOfCheck = { complete: "", problems: [problem({ path: "other", line: 1 })], changes: null };
    await press("Check");
    expect(marked()).toEqual(["1"]);
    expect(field().value).toBe("other: 1");
  });

  it("says what was applied, and asks until the scheduler decides by it", async () => {
    await open();
    await press("Edit");
    vi.useFakeTimers();
    const pressed = press("Apply");
    await vi.advanceTimersByTimeAsync(100);
    await pressed;
    const told = () => document.querySelector("[role=status]")?.textContent ?? "";
    expect(told()).toContain("Version 3 is saved and counts from the scheduler's next step on.");
    expect(told()).toContain("parallelism 8 → 16");
    inForce = { ...inForce, is_in_use: true };
    await vi.advanceTimersByTimeAsync(2500);
    flushSync();
    expect(told()).toContain("the scheduler decides by it now");
    sent = [];
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual([]);
  });

  it("closed while it is saved, leaves the page where it is", async () => {
    await open(configHref(7, 1));
    let answer = () => {};
    held = new Promise((resolve) => {
      answer = resolve;
    });
    await press("Use this version again");
    close();
    router.open("#/clusters/7");
    answer();
    await settled();
    expect(inForce.version).toBe(3);
    expect(location.hash).toBe("#/clusters/7");
  });

  it("takes an old version back into force", async () => {
    await open();
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
