import { describe, expect, it } from "vitest";
import { partsAt, placeOf, withOption } from "./queryText";

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
