/** A history from a file: it says so, and offers nothing that it refuses. */
import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import type { State } from "../../live/state";
import { store } from "../../state/store.svelte";
import { close, hrefs, press, said, show, texts } from "../__fixtures__/shown";
import { entries } from "../search/actions";
import AccessDialog from "./AccessDialog.svelte";
import TopBar from "./TopBar.svelte";

const RECORD = { ...CLUSTER, is_record: true };
const ME = { username: "ada", is_superuser: true, may_create_clusters: true, roles: {}, token: null };
let asked: string[] = [];

beforeEach(() => {
  asked = [];
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(new URL(request.url).pathname);
    return new Response("{}");
  });
  store.clusterId = CLUSTER.id;
  store.me = ME as never;
});

afterEach(() => {
  close();
  [store.clusterId, store.state, store.me, store.moment] = [null, null, null, null];
});

function bar(cluster: typeof CLUSTER): string {
  store.state = { cluster } as State;
  show(TopBar, {});
  return said();
}

const button = (name: string) => document.querySelector(`button[aria-label="${name}"]`);

describe("the bar of a history from a file", () => {
  it("says what it is, and has no pace, no clock and nobody who leads it", () => {
    expect(bar(RECORD)).toContain("Record: read-only");
    expect(document.querySelector(".pace")).toBeNull();
    expect(button("Time")).not.toBeNull();
    expect(asked.filter((path) => path.includes("leadership") || path.includes("clock"))).toEqual([]);
  });

  it("says so in the past, too", () => {
    store.moment = { wanted: "1.1", position: "1.1", asked: "1.1", time: 0 };
    expect(bar(RECORD)).toContain("Record: read-only");
  });

  it("is that of any other cluster otherwise", () => {
    expect(bar(CLUSTER)).not.toContain("Record");
    expect(document.querySelector(".pace")).not.toBeNull();
  });

  it("imports for those alone who may make a cluster of it", () => {
    bar(RECORD);
    expect(button("Import")).not.toBeNull();
    store.me = { ...ME, may_create_clusters: false } as never;
    flushSync();
    expect(button("Import")).toBeNull();
  });
});

describe("the menu", () => {
  const saved = (cluster: typeof CLUSTER) => {
    bar(cluster);
    press("Settings");
    return texts(".popup a[download]");
  };

  it.each([
    ["a cluster", CLUSTER],
    ["a record", RECORD],
  ])("saves the history of %s as a file", (_, cluster) => {
    const file = `/api/clusters/${CLUSTER.id}/history/export`;
    expect(saved(cluster)).toEqual(["Save the history as a file", "Save the history without names"]);
    expect(hrefs(".popup a[download]")).toEqual([file, `${file}?anonymise=true`]);
  });

  it("saves none of a mirror", () => expect(saved({ ...CLUSTER, is_mirror: true })).toEqual([]));

  it("leaves it to the band in the past", () => {
    store.moment = { wanted: "1.1", position: "1.1", asked: "1.1", time: 0 };
    bar(CLUSTER);
    press("Settings");
    expect(texts("a[download]")).toEqual(["Save as a file", "Save without names"]);
  });
});

describe("what else is offered", () => {
  it("is no pace in the search", () => {
    const paces = (cluster: typeof CLUSTER) => {
      store.state = { cluster } as State;
      return entries({}).filter((entry) => entry.id.startsWith("pace"));
    };
    expect(paces(CLUSTER)).toHaveLength(2);
    expect(paces(RECORD)).toEqual([]);
  });

  it("is a token to read with", () => {
    show(AccessDialog, { cluster: RECORD, onclose: () => {} });
    expect(texts('[aria-labelledby="access-role"] button')).toHaveLength(1);
    expect(said()).toContain("A record can only be read");
  });
});
