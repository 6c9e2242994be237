import { afterEach, describe, expect, it } from "vitest";
import en from "./en.json";
import { i18n, pluralForm, t } from "./index.svelte";
import zh from "./zh-Hans.json";

afterEach(() => i18n.use("en"));

/** The values a text is given, by name, in order of the alphabet. */
function valuesOf(text: string): readonly string[] {
  return [...text.matchAll(/\{(\w+)(?:\|[^}]*)?\}/g)].map((match) => match[1] ?? "").sort();
}

describe("plurals", () => {
  it.each([
    [0, "0 pods"],
    [1, "1 pod"],
    [2, "2 pods"],
    [1234, "1,234 pods"],
  ])("counts %d", (count, want) => expect(t("queues.count", { count })).toBe(want));

  it("counts in a language without plurals", async () => {
    await i18n.use("zh-Hans");
    expect(t("queues.count", { count: 1 })).toBe("1 个 Pod");
  });

  it("takes the form by the rule of the language, the last where it has too few", () => {
    const polish = new Intl.PluralRules("pl");
    expect([1, 3, 5].map((count) => pluralForm(polish, count, ["one", "few", "many", "other"]))).toEqual([
      "one",
      "few",
      "many",
    ]);
    expect(pluralForm(polish, 5, ["one", "other"])).toBe("other");
  });
});

describe("moment", () => {
  it("has the day, and the year when that is not this one", () => {
    const now = new Date();
    const [day] = now.toLocaleString("en", { month: "short", day: "numeric" }).split(",");
    expect(i18n.moment(now.getTime())).toContain(day);
    expect(i18n.moment(now.getTime())).not.toContain(String(now.getFullYear()));
    expect(i18n.moment(Date.UTC(2001, 5, 15))).toContain("2001");
  });
});

describe("texts", () => {
  it("are there in both languages, with the same values", () => {
    const values = (texts: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, valuesOf(text)]));
    expect(values(zh)).toEqual(values(en));
  });

  it.each(["import.lifecycle.hint", "controllers.frozen", "make.simulateHint"] as const)(
    "say that pods are preempted in frozen clusters: %s",
    (key) => {
      expect(en[key]).toContain("preempt");
      expect(zh[key]).toContain("抢占");
    },
  );

  it("say a noun that is counted in both of its forms", () => {
    const single = Object.entries(en).filter(([, text]) =>
      /\{(?:count|evaluated|tried)\} (?:\w+ )?[a-z]+s\b/.test(text),
    );
    expect(single).toEqual([]);
  });
});
