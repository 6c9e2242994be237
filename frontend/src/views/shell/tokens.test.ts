import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Token, TokenCreated } from "../../contract/api.gen";
import { curlOf, endOf, isDays, isTokenName } from "../../lib/tokens";
import { button, close, press, said, show, texts, type as write } from "../__fixtures__/shown";
import TokensDialog from "./TokensDialog.svelte";

const SECRET = "ksched_abcdefghijkWXYZ";
const TOKEN: Token = {
  id: 1,
  name: "nightly",
  max_role: "operator",
  last_characters: "q7Zk",
  created_at: "2026-11-01T12:00:00Z",
  expires_at: "2027-01-30T12:00:00Z",
  revoked_at: null,
  last_used_at: null,
  is_over: false,
};
const OVER: Token = { ...TOKEN, id: 2, name: "old", revoked_at: "2026-11-02T12:00:00Z", is_over: true };

let kept: Token[] = [];
let sent: { method: string; url: string; body: unknown }[] = [];
let refusal: string | null = null;
let copied = "";

beforeEach(() => {
  [kept, sent, refusal, copied] = [[TOKEN, OVER], [], null, ""];
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname: url } = new URL(request.url);
    if (request.method === "GET") return new Response(JSON.stringify({ results: kept, next: null, previous: null }));
    const text = await request.text();
    sent.push({ method: request.method, url, body: text ? JSON.parse(text) : null });
    if (refusal) return new Response(JSON.stringify({ code: "conflict", message: refusal }), { status: 409 });
    if (request.method === "DELETE") {
      kept = kept.map((one) => (url.endsWith(`/${one.id}`) ? { ...one, is_over: true } : one));
      return new Response(null, { status: 204 });
    }
    const created: TokenCreated = { ...TOKEN, id: 3, ...JSON.parse(text), last_characters: "WXYZ", secret: SECRET };
    kept = [created, ...kept];
    return new Response(JSON.stringify(created), { status: 201 });
  });
  vi.stubGlobal("navigator", {
    ...navigator,
    language: "en",
    clipboard: {
      writeText: async (text: string) => {
        copied = text;
      },
    },
  });
});

async function open(): Promise<void> {
  show(TokensDialog, { onclose: () => undefined });
  await vi.waitFor(() => expect(said()).toContain("nightly"));
}

const rows = () => texts("ul.live > li");

function type(label: string, value: string): void {
  const field = [...document.querySelectorAll("label")].find((one) => one.textContent?.includes(label));
  const input = field?.querySelector("input");
  if (!input) throw new Error(`no field ${label}`);
  write(input, value);
}

async function makeOne(): Promise<void> {
  type("Name", "ci");
  button("Operator").click();
  type("Days", "30");
  document.querySelector("form")?.requestSubmit();
  await vi.waitFor(() => expect(sent).toHaveLength(1));
}

describe("the dialog of tokens", () => {
  it("lists those that are good, and counts the others", async () => {
    await open();
    expect(rows()).toHaveLength(1);
    for (const fact of ["nightly", "Operator", "…q7Zk", "Nov 1, 2026", "never used", "Jan 30, 2027"])
      expect(rows()[0]).toContain(fact);
    expect(document.querySelector("summary")?.textContent).toContain("1 token that is over");
    expect(document.querySelector("details")?.textContent).toContain("old");
  });

  it("makes one with the rights and the days that were chosen", async () => {
    await open();
    await makeOne();
    expect(sent[0]).toEqual({
      method: "POST",
      url: "/api/tokens",
      body: { name: "ci", max_role: "operator", days: 30 },
    });
    await vi.waitFor(() => expect(rows()).toHaveLength(2));
  });

  it("shows the whole of a new one, and gives it and the command to the clipboard", async () => {
    await open();
    await makeOne();
    await vi.waitFor(() => expect(said()).toContain("shown only now"));
    expect(document.querySelector<HTMLInputElement>("input[readonly]")?.value).toBe(SECRET);
    button("Copy the token").click();
    await vi.waitFor(() => expect(copied).toBe(SECRET));
    button("Copy the command").click();
    await vi.waitFor(() => expect(copied).toBe(curlOf(location.origin, SECRET)));
  });

  it("does not show one again that was made before", async () => {
    await open();
    await makeOne();
    await vi.waitFor(() => expect(document.body.innerHTML).toContain("Copy the token"));
    close();
    await open();
    expect(document.body.innerHTML).not.toContain("Copy the token");
    expect(document.querySelector("input[readonly], textarea[readonly]")).toBeNull();
  });

  it("revokes one only when that is confirmed", async () => {
    await open();
    press("Revoke nightly");
    expect(said()).toContain("stop working at once");
    press("Keep it");
    expect(said()).not.toContain("stop working at once");
    expect(sent).toEqual([]);
    press("Revoke nightly");
    button("Revoke it").click();
    await vi.waitFor(() => expect(rows()).toEqual([]));
    expect(sent).toEqual([{ method: "DELETE", url: "/api/tokens/1", body: null }]);
    expect(document.querySelector("[role=status]")?.textContent).toContain("nightly");
  });

  it("no longer shows a new one that is revoked", async () => {
    await open();
    await makeOne();
    await vi.waitFor(() => expect(rows()).toHaveLength(2));
    press("Revoke ci");
    button("Revoke it").click();
    await vi.waitFor(() => expect(rows()).toHaveLength(1));
    expect(document.querySelector("input[readonly]")).toBeNull();
  });

  it("says what the service refuses", async () => {
    refusal = "there is a token named 'ci' already";
    await open();
    await makeOne();
    await vi.waitFor(() => expect(document.querySelector("[role=alert]")?.textContent).toContain(refusal));
  });

  it.each([
    ["Name", "nightly"],
    ["Name", "A name"],
    ["Name", ""],
    ["Days", "0"],
    ["Days", "367"],
    ["Days", ""],
  ])("sends nothing while %s is “%s”", async (label, value) => {
    await open();
    type("Name", "ci");
    expect(button("Make the token").disabled).toBe(false);
    type(label, value);
    expect(button("Make the token").disabled).toBe(true);
  });
});

it.each([
  ["a", true],
  ["ci-2.x_y", true],
  ["-ci", false],
  ["ci@ada", false],
  ["x".repeat(61), false],
])("%s as a name of a token: %s", (text, good) => expect(isTokenName(text)).toBe(good));

it.each([
  [1, true],
  [366, true],
  [367, false],
  [1.5, false],
  [null, false],
])("%s days: %s", (days, good) => expect(isDays(days)).toBe(good));

it("a token ends after its days", () => expect(endOf(2, 1000)).toBe(1000 + 2 * 86_400_000));
