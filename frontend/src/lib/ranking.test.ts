import { describe, expect, it } from "vitest";
import { match, piecesOf } from "./ranking";
import cases from "./ranking.cases.json";

describe("the rule of the search", () => {
  it.each(cases)("$word in $name: $how", ({ word, name, how, marks }) => {
    expect(match(word, name)).toEqual(how === null ? null : { how, marks });
  });

  it("takes long words for names, not for abbreviations", () => {
    const name = "a-".repeat(60);
    expect(match("a".repeat(16), name)?.how).toBe("parts");
    expect(match("a".repeat(17), name)).toBeNull();
  });

  it("cuts a name where its marks are, in characters", () => {
    expect(piecesOf("😀-web", [[2, 3]]).map(({ text, isMarked }) => (isMarked ? `[${text}]` : text))).toEqual([
      "😀-",
      "[w]",
      "eb",
    ]);
    expect(piecesOf("web", [[0, 3]])).toEqual([{ text: "web", isMarked: true }]);
    expect(piecesOf("web", [])).toEqual([{ text: "web", isMarked: false }]);
  });
});
