import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../api/client";
import type { SearchAnswer, SearchHit } from "../../contract/api.gen";
import { queries } from "../../data/queries";
import { i18n } from "../../i18n/index.svelte";
import { openedIn, withOpened } from "../../lib/found";
import * as preferences from "../../state/preferences.svelte";
import { store } from "../../state/store.svelte";
import { found, show, texts, type as write } from "../__fixtures__/shown";
import { type Entry, entries } from "./actions";
import { hrefOf, stateOf } from "./hits";
import { groupsOf } from "./rows";
import Search from "./Search.svelte";

const HIT: SearchHit = {
  kind: "pod",
  cluster_id: 1,
  cluster: "c",
  namespace: "default",
  name: "web-1",
  of: "",
  state: "bound",
  node: "",
  pods: null,
  at: "2026-11-01T12:00:00Z",
  how: "start",
  marks: [[0, 3]],
};
const GONE: SearchHit = { ...HIT, kind: "gonepod", state: "gone" };
const answer = (...hits: SearchHit[]): SearchAnswer => ({
  groups: hits.length ? [{ kind: hits[0]?.kind ?? "pod", hits, more: false }] : [],
});

let asked: string[] = []; // words, of deleted pods with `gone ` before them
let answers: ((question: string, hits: readonly SearchHit[]) => void)[] = [];

beforeEach(() => {
  [asked, answers] = [[], []];
  queries.clear();
  localStorage.clear();
  location.hash = "";
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  store.clusters = [{ id: 1, name: "c" } as never];
  vi.stubGlobal("fetch", (request: Request) => {
    const parameters = new URL(request.url).searchParams;
    const question = `${parameters.get("kinds") === "gonepod" ? "gone " : ""}${parameters.get("q") ?? ""}`;
    asked.push(question);
    return new Promise<Response>((resolve) => {
      answers.push((answered, hits) => {
        if (answered === question) resolve(new Response(JSON.stringify(answer(...hits))));
      });
    });
  });
  show(Search, { dialogs: {} });
});

afterEach(() => {
  store.clusters = null;
});

function press(key: string, target: EventTarget = document.body, more: KeyboardEventInit = {}): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  flushSync();
  return event.defaultPrevented;
}

const field = () => document.querySelector<HTMLInputElement>("[role=combobox]");
const options = () => texts("[role=option]");
const chosen = () => document.querySelector("[aria-selected=true]")?.textContent ?? "";
/** Nothing more is said than the word itself when no hits are given. */
const answerTo = (word: string, ...hits: SearchHit[]) => {
  for (const give of answers) give(word, hits.length ? hits : [{ ...HIT, name: word, how: "exact" }]);
};
const nothingTo = (question: string) => {
  for (const give of answers) give(question, []);
};

const type = (word: string) => write(found<HTMLInputElement>("[role=combobox]"), word);

describe("the keys", () => {
  it.each([
    ["/", {}],
    ["k", { ctrlKey: true }],
    ["K", { metaKey: true }],
  ] as const)("%s opens the search", (key, more) => {
    expect(press(key, document.body, more)).toBe(true);
    expect(document.activeElement).toBe(field());
  });

  it.each(["input", "textarea", "select"])("a slash is typed into a %s", (tag) => {
    const other = document.body.appendChild(document.createElement(tag));
    expect(press("/", other)).toBe(false);
    expect(field()).toBeNull();
    expect(press("k", other, { ctrlKey: true })).toBe(true);
    expect(field()).not.toBeNull();
  });

  it("do not open it over another dialog", () => {
    document.body.appendChild(document.createElement("dialog")).setAttribute("open", "");
    press("/");
    expect(field()).toBeNull();
  });
});

describe("the box", () => {
  it("opens what was typed, not what was found for the letters before", async () => {
    press("/");
    type("web");
    await vi.waitFor(() => expect(asked).toContain("web"));
    answerTo("web");
    await vi.waitFor(() => expect(options()[0]).toContain("web"));
    type("web-12");
    press("Enter", field() ?? undefined);
    await vi.waitFor(() => expect(asked).toContain("web-12"));
    expect(location.hash).toBe("");
    answerTo("web-12");
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/web-12"));
    expect(openedIn(preferences.kept("found")).map(({ name }) => name)).toEqual(["web-12"]);
    await vi.waitFor(() => expect(field()).toBeNull());
  });

  it("begins with what was opened last, of clusters that are there", async () => {
    preferences.write(
      "found",
      withOpened(withOpened("", { ...HIT, name: "seen" }), { ...HIT, name: "elsewhere", cluster_id: 2 }),
    );
    press("/");
    nothingTo("");
    await vi.waitFor(() => expect(options().length).toBeGreaterThan(0));
    expect(options()[0]).toContain("seen");
    expect(options().some((text) => text.includes("elsewhere"))).toBe(false);
    expect(field()?.getAttribute("aria-activedescendant")).toBe(document.querySelector("[aria-selected=true]")?.id);
  });
});

describe("deleted pods", () => {
  const one = (name: string): SearchHit => ({ ...HIT, name });
  const gone = (name: string, how: SearchHit["how"] = "start"): SearchHit => ({ ...GONE, name, how });

  /** The rest is there, deleted pods are not yet. */
  async function begin(word = "web-1"): Promise<void> {
    press("/");
    type(word);
    await vi.waitFor(() => expect(asked).toContain(word));
    expect(asked).not.toContain(`gone ${word}`);
    answerTo(word, one("web-10"), one("web-11"));
    await vi.waitFor(() => expect(asked).toContain(`gone ${word}`));
    await vi.waitFor(() => expect(options().length).toBe(2));
  }
  const goneCame = () => vi.waitFor(() => expect(options().length).toBe(3));

  it("stand below what matches as well, and above it where they match better", async () => {
    await begin();
    answerTo("gone web-1", gone("web-12"));
    await goneCame();
    expect(options()[2]).toContain("web-12");
    expect(document.querySelector("[role=listbox]")?.getAttribute("aria-busy")).toBe("false");
    type("web-");
    await vi.waitFor(() => expect(asked).toContain("web-"));
    answerTo("web-", one("web-10"), one("web-11"));
    await vi.waitFor(() => expect(asked).toContain("gone web-"));
    answerTo("gone web-", gone("web-", "exact"));
    await vi.waitFor(() => expect(options()[0]).not.toContain("web-10"));
    expect(chosen()).toBe(document.querySelector("[role=option]")?.textContent);
  });

  it("are waited for by Enter, as one may be what was typed", async () => {
    await begin();
    press("Enter", field() ?? undefined);
    expect(location.hash).toBe("");
    answerTo("gone web-1", gone("web-1", "exact"));
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/web-1"));
    expect(openedIn(preferences.kept("found"))[0]).toMatchObject({ kind: "pod", name: "web-1" });
  });

  it("are not waited for where the name itself is there, or nothing was typed", async () => {
    press("/");
    await vi.waitFor(() => expect(asked).toContain(""));
    answerTo("", one("last"));
    await vi.waitFor(() => expect(options()[0]).toContain("last"));
    press("Enter", field() ?? undefined);
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/last"));
    await vi.waitFor(() => expect(field()).toBeNull());
    press("/");
    type("web-1");
    await vi.waitFor(() => expect(asked).toContain("web-1"));
    answerTo("web-1");
    press("Enter", field() ?? undefined);
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/web-1"));
  });

  it("move nothing under a row that was chosen meanwhile, which Enter opens at once", async () => {
    await begin();
    press("ArrowDown", field() ?? undefined);
    expect(chosen()).toContain("web-11");
    answerTo("gone web-1", gone("web-1", "exact"));
    await goneCame();
    expect(options().map((text) => text.slice(0, 6))).toEqual(["web-10", "web-11", "web-1 "]);
    expect(chosen()).toContain("web-11");
    type("web-");
    await vi.waitFor(() => expect(asked).toContain("web-"));
    answerTo("web-", one("web-10"), one("web-11"));
    await vi.waitFor(() => expect(asked).toContain("gone web-"));
    press("ArrowDown", field() ?? undefined);
    press("Enter", field() ?? undefined);
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/web-11"));
  });

  it("of other letters come too late", async () => {
    await begin();
    type("web-11");
    answerTo("gone web-1", gone("web-1", "exact"));
    await vi.waitFor(() => expect(asked).toContain("web-11"));
    answerTo("web-11", one("web-110"));
    await vi.waitFor(() => expect(asked).toContain("gone web-11"));
    answerTo("gone web-11", gone("web-112"));
    await vi.waitFor(() => expect(options().map((text) => text.slice(0, 7))).toEqual(["web-110", "web-112"]));
  });

  it("that cannot be read leave the rest, and Enter opens it", async () => {
    press("/");
    type("web-1");
    await vi.waitFor(() => expect(asked).toContain("web-1"));
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify({ message: "no" }), { status: 500 })));
    answerTo("web-1", one("web-10"));
    await vi.waitFor(() => expect(document.querySelector("[role=alert]")).not.toBeNull());
    expect(options()[0]).toContain("web-10");
    press("Enter", field() ?? undefined);
    await vi.waitFor(() => expect(location.hash).toBe("#/clusters/1/pods/default/web-10"));
  });
});

describe("an action", () => {
  it("that is refused says so, and the search stays", async () => {
    const use = vi.spyOn(i18n, "use").mockRejectedValue(new ApiError("refused", "not now"));
    press("/");
    type("english");
    await vi.waitFor(() => expect(asked).toContain("english"));
    answerTo("english");
    await vi.waitFor(() => expect(options().join()).toContain("English"));
    const all = [...document.querySelectorAll<HTMLElement>("[role=option]")];
    const own = all.find((one) => one.textContent?.includes("Language: English"));
    own?.click();
    await vi.waitFor(() => expect(document.querySelector("[role=alert]")?.textContent).toBe("not now"));
    expect(field()).not.toBeNull();
    use.mockResolvedValue(undefined);
    own?.click();
    await vi.waitFor(() => expect(field()).toBeNull());
    use.mockRestore();
  });
});

describe("the views", () => {
  it("are the lists, too", () => {
    store.state = { cluster: { id: 1 } } as never;
    try {
      const lists = entries({}).filter(({ id }) => id.startsWith("list "));
      expect(lists).toHaveLength(7);
      expect(lists[0]).toMatchObject({ kind: "view", name: "List: Pods" });
      expect(lists[0]?.href).toContain("#/clusters/1?list=pods");
    } finally {
      store.state = null;
    }
  });
});

describe("the rows", () => {
  const entry = (kind: Entry["kind"], name: string): Entry => ({ kind, id: name, name, href: "#/" });
  const own = [entry("view", "Workloads"), entry("action", "Import files"), entry("action", "Theme: Dark")];

  it("stand in groups, that with the best match first", () => {
    const named = (word: string, hit: SearchHit) => groupsOf(word, answer(hit), [], own).map(({ kind }) => kind);
    expect(named("import", { ...HIT, name: "batch-import", how: "word" })).toEqual(["action", "pod"]);
    expect(named("import", { ...HIT, name: "import-1", how: "start" })).toEqual(["pod", "action"]);
    expect(named("", { ...HIT, how: "start" })).toEqual(["pod", "view", "action"]);
    const gone = answer({ ...GONE, how: "start" });
    const beside = (how: SearchHit["how"], isLate: boolean) =>
      groupsOf("import", answer({ ...HIT, how }), [], own, gone, isLate).map(({ kind }) => kind);
    expect(beside("start", false)).toEqual(["pod", "action", "gonepod"]);
    expect(beside("word", false)).toEqual(["action", "gonepod", "pod"]);
    expect(beside("word", true)).toEqual(["action", "pod", "gonepod"]);
  });

  it("open where the thing is", () => {
    const href = (hit: Partial<SearchHit>) => hrefOf({ ...HIT, ...hit });
    expect(href({})).toBe("#/clusters/1/pods/default/web-1");
    expect(href({ kind: "gonepod" })).toBe("#/clusters/1/pods/default/web-1");
    expect(href({ kind: "node", namespace: "" })).toBe("#/clusters/1/nodes/web-1");
    expect(href({ kind: "workload", of: "Job" })).toBe("#/clusters/1/workloads/Job/default/web-1");
    expect(href({ kind: "namespace", name: "shop" })).toBe("#/clusters/1/workloads?find=shop");
    expect(href({ kind: "priorityclass" })).toBe("#/clusters/1/objects/PriorityClass/web-1");
    expect(href({ kind: "reason", of: "Fit", name: "no cpu" })).toBe("#/clusters/1?pending=Fit%2Fno+cpu");
    expect(href({ kind: "configuration", of: "version", name: "v3" })).toBe("#/clusters/1/config/versions/3");
    expect(href({ kind: "configuration", of: "profile" })).toBe("#/clusters/1/config");
    expect(href({ kind: "cluster" })).toBe("#/clusters/1");
  });

  it("say the state in the words of its kind", () => {
    expect(stateOf(GONE)).toEqual({ text: "search.state.gone", tone: "" });
    expect(stateOf({ ...HIT, kind: "workload", state: "running" })?.text).toBe("workload.state.running");
    expect(stateOf({ ...HIT, state: "running" })?.text).toBe("search.state.running");
    expect(stateOf({ ...HIT, kind: "namespace", state: "" })).toBeNull();
  });
});
