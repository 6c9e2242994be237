import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../api/errors";
import { i18n } from "../i18n/index.svelte";
import { partsAt, placeOf, withOption, wrongText } from "./queryText";

describe("places in a query", () => {
  it.each([
    ["web stats:x", 4, 9, ["web ", "stats", ":x"]],
    ["😀 stats:x", 2, 7, ["😀 ", "stats", ":x"]],
    ["x", 0, 1, ["", "x", ""]],
  ] as const)("%s", (text, at, end, parts) => expect(partsAt(text, at, end)).toEqual(parts));

  it("are counted in characters", () => expect(placeOf("😀a", 2)).toBe(1));
});

describe("an option", () => {
  it.each([
    ["st", 0, 2, "status:", "status:", 7],
    ["status:pe ns:web", 7, 9, "pending ", "status:pending ns:web", 15],
    ["ns:we", 3, 5, "web ", "ns:web ", 7],
    ["😀 ns:w,", 5, 6, "web ", "😀 ns:web ,", 10],
  ] as const)("%s", (text, at, end, option, want, caret) =>
    expect(withOption(text, at, end, option)).toEqual({ text: want, caret }),
  );
});

describe("what is wrong with a query", () => {
  const problem = (name: string, values: object) =>
    new ApiError("invalid_query", "as the service says it", { at: 0, end: 1, problem: name, values }, 400);

  afterEach(() => i18n.use("en"));

  it("is said in the reader's language", async () => {
    const word = problem("word", { key: "status", words: "pending, bound" });
    expect(wrongText(word)).toBe("status is one of pending, bound.");
    expect(wrongText(problem("tooMany", { most: 50 }))).toBe("At most 50 terms.");
    await i18n.use("zh-Hans");
    expect(wrongText(word)).toBe("status 只能是 pending, bound 之一。");
  });

  it("is said as the service says it where there is no text", () => {
    expect(wrongText(problem("another", {}))).toBe("as the service says it");
    expect(wrongText(new ApiError("page_error", "no network"))).toBe("no network");
  });
});
